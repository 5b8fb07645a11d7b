"""The same law and propagator on other robots and terrain (beyond Ogunsola)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tarsus import robots
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.dynamics.robot import Robot
from tarsus.morphology.feet import find_feet
from tarsus.simulation.simulation import Simulation
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane
from tarsus.terrain.surface import Surface
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drop_runs import DropRun
from tarsus_papers.ogunsola.drops import INNER_STEPPER, Array, G, stepper
from tarsus_papers.ogunsola.tripod import tripod

HEIGHT, TILT = 0.3, np.deg2rad(5.0)  # m, rad
E = np.array([0.0, 0.5])  # restitution of the two worlds
DT = 2.5e-4  # s
MAX_DEPTH_LEVEL, MAX_DEPTH_CURVED = 1e-5, 1e-3  # m
BOWL = Surface(height=lambda x, y: 0.5 * (x * x + y * y))


@dataclass(frozen=True)
class Dropped:
    """Robot above some terrain.

    Attributes
    ----------
    name
        Name for tables.
    load
        Function that returns the robot.
    ground
        The terrain.
    level
        Whether the time of landing is known, because the ground is a level plane.
    friction
        Friction coefficient.
    """

    name: str
    load: Callable[[], Robot]
    ground: Terrain
    level: bool

    friction: float = 0.0


ROBOTS = (
    Dropped("tripod (URDF)", tripod, Plane(), True),
    Dropped("tripod (URDF), in a bowl", tripod, BOWL, False),
    Dropped("tripod (URDF), mu 0.6", tripod, Plane(), True, 0.6),
    Dropped("Mini Cheetah", partial(robots.load, "mini_cheetah"), Plane(), True),
    Dropped("StarlETH", partial(robots.load, "starleth"), Plane(), True),
)
QUICK_ROBOTS = ROBOTS[:1]


class OtherRobots(Exhibit):
    """Robots with free legs dropped from 0.3 m."""

    name: ClassVar[str] = "robots"
    title: ClassVar[str] = "Other robots and surfaces"
    location: ClassVar[str] = ""
    description: ClassVar[str] = (
        "The paper calls its classes a template for other robots. Mini Cheetah, StarlETH and a"
        " three-legged robot from a URDF file fall 0.3 m with free legs and the body rotated by 5"
        " degrees about y, with e 0 and 0.5. They fall onto a plane; the last one also falls into"
        " a bowl, and with friction. Only feet touch the ground until 0.05 s after the landing."
    )

    def measure(self, task: Task) -> Finding:
        rows, checks = [], []
        for dropped in QUICK_ROBOTS if task.quick else ROBOTS:
            task.on_progress(dropped.name)
            run = _run(dropped)
            landing_error, depth, energy_change, momentum_error = _measure(dropped, run)
            rows.append(
                (
                    dropped.name,
                    len(run.impacts.time),
                    landing_error,
                    1e6 * depth,
                    energy_change,
                    momentum_error,
                )
            )
            checks.append(
                _check(dropped, run, landing_error, depth, (energy_change, momentum_error))
            )
        columns = (
            "robot", "impacts", "landing error / s", "depth / µm",
            "largest change of kinetic energy in an impact", "momentum error in an impact",
        )  # fmt: skip
        note = (
            "In a bowl a sliding foot sinks at first order in dt, because the law predicts the"
            " velocities of the next step from the motion of the bodies, without the curvature of"
            " the ground."
        )
        return Finding({"rows": rows}, (), [Table("", columns, rows)], checks, [note])


def _run(dropped: Dropped) -> DropRun:
    """Run both worlds from rest above the ground until shortly after the landing."""
    robot = dropped.load()
    names = [foot.name for foot in find_feet(robot)]
    law = LcpImpulse(e_N=E, mu=dropped.friction)
    simulation = Simulation(
        robot, law, stepper(INNER_STEPPER), dropped.ground, None, DT, worlds=len(E), contacts=names
    )
    robot, q = simulation.robot, np.array(simulation.q)
    q[:, 3:7] = [np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0]
    q[:, 2] += HEIGHT - _heights(robot, q[0], names).min()
    simulation.set(q=q)
    return DropRun.of(robot, simulation.run(float(np.sqrt(2 * HEIGHT / G)) + 0.05))


def _heights(robot: Robot, q: Array, names: list[str]) -> Array:
    """Return the heights of the feet's lowest points, in m."""
    radius = {c.name: c.radius for c in robot.candidates}
    return np.array([robot.position(q, name)[2] - radius[name] for name in names])


def _measure(dropped: Dropped, run: DropRun) -> tuple[float | None, float, float, float | None]:
    """Return landing error (s), depth (m), and energy and momentum errors of all impacts.

    The last two are the largest relative change of kinetic energy and the largest relative error of
    vertical momentum. Landing and momentum errors are known on level ground only.
    """
    s, fall = run.impacts, float(np.sqrt(2 * HEIGHT / G))
    first = np.array([s.time[s.world == k][0] for k in range(len(E))])
    after, before = (run.robot.momentum(s.q, u)[:, :3] for u in (s.u_after, s.u_before))
    momentum_error = None
    if dropped.level:
        vertical_error = (after - before)[:, 2] - s.impulse[..., 0].sum(axis=1)
        momentum_error = float(np.abs(vertical_error / np.linalg.norm(before, axis=1)).max())
    energy_change = float((s.kinetic_after / s.kinetic_before - 1).max())
    landing_error = float(np.abs(first - fall).max()) if dropped.level else None
    return landing_error, max(-float(run.gap.min()), 0.0), energy_change, momentum_error


def _check(
    dropped: Dropped,
    run: DropRun,
    landing_error: float | None,
    depth: float,
    impacts: tuple[float, float | None],
) -> Check:
    allowed = MAX_DEPTH_LEVEL if dropped.level else MAX_DEPTH_CURVED
    holds = np.isfinite(run.q).all() and depth < allowed
    holds &= impacts[0] < 1e-12 and (impacts[1] or 0.0) < 1e-10 and (landing_error or 0.0) < 1e-9
    landing = "" if landing_error is None else f"landing error {landing_error:.1e} s, "
    on_time = "" if landing_error is None else "lands on time to 1e-9 s, "
    return Check(
        f"{dropped.name}: {on_time}depth below {allowed:g} m, no energy gain in impacts",
        bool(holds),
        f"{landing}{depth:.1e} m, {impacts[0]:+.1e} of the energy",
    )
