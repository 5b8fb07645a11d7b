"""The same law and propagator on other robots and other ground (beyond Ogunsola)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tarsus import robots
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.dynamics.robot import Robot
from tarsus.morphology.feet import feet
from tarsus.simulation.simulation import Simulation
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane
from tarsus.terrain.surface import Surface
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drops import INSIDE, Array, G, stepper
from tarsus_papers.ogunsola.tripod import tripod
from tarsus_papers.ogunsola.watch import DropRun

HEIGHT, TILT = 0.3, np.deg2rad(5.0)  # m, rad
E = np.array([0.0, 0.5])  # of the two worlds
DT = 2.5e-4  # s
SHALLOW, CURVED = 1e-5, 1e-3  # m: depth on level and on curved ground
BOWL = Surface(height=lambda x, y: 0.5 * (x * x + y * y))


@dataclass(frozen=True)
class Dropped:
    """A robot above some ground."""

    name: str
    load: Callable[[], Robot]
    ground: Terrain
    level: bool
    """Whether the time of its landing is known: the ground is a level plane."""
    friction: float = 0.0


ROBOTS = (
    Dropped("tripod (URDF)", tripod, Plane(), True),
    Dropped("tripod (URDF), in a bowl", tripod, BOWL, False),
    Dropped("tripod (URDF), mu 0.6", tripod, Plane(), True, 0.6),
    Dropped("Mini Cheetah", partial(robots.load, "mini_cheetah"), Plane(), True),
    Dropped("StarlETH", partial(robots.load, "starleth"), Plane(), True),
)
FEW = ROBOTS[:1]


class OtherRobots(Exhibit):
    """Free legs dropped from 0.3 m."""

    name: ClassVar[str] = "robots"
    title: ClassVar[str] = "Other robots, another surface"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The paper calls its classes a template for other robots. Mini Cheetah, StarlETH and a"
        " three-legged robot from a URDF file fall 0.3 m with free legs, the body turned by 5"
        " degrees about y, with e 0 and 0.5: onto a plane, one also into a bowl and with friction."
        " Only feet touch the ground, until 0.05 s after the landing."
    )

    def measure(self, task: Task) -> Finding:
        rows, checks = [], []
        for dropped in FEW if task.quick else ROBOTS:
            task.tell(dropped.name)
            run = _run(dropped)
            late, deep, gained, moved = _measured(dropped, run)
            rows.append((dropped.name, len(run.strikes.time), late, 1e6 * deep, gained, moved))
            checks.append(_check(dropped, run, late, deep, (gained, moved)))
        columns = (
            "robot", "strikes", "landing off / s", "depth / µm",
            "largest change of kinetic energy in a strike", "momentum off in a strike",
        )  # fmt: skip
        note = (
            "In a bowl a sliding foot sinks at first order in dt: what the law knows of the next"
            " step's velocities is the motion of the bodies, not the ground's curvature."
        )
        return Finding({"rows": rows}, (), [Table("", columns, rows)], checks, [note])


def _run(dropped: Dropped) -> DropRun:
    """Both worlds, from rest above the ground to shortly after the landing."""
    robot = dropped.load()
    names = [foot.name for foot in feet(robot)]
    law = LcpImpulse(e_N=E, mu=dropped.friction)
    simulation = Simulation(
        robot, law, stepper(INSIDE), dropped.ground, None, DT, worlds=len(E), contacts=names
    )
    robot, q = simulation.robot, np.array(simulation.q)
    q[:, 3:7] = [np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0]
    q[:, 2] += HEIGHT - _heights(robot, q[0], names).min()
    simulation.set(q=q)
    return DropRun.of(robot, simulation.run(float(np.sqrt(2 * HEIGHT / G)) + 0.05))


def _heights(robot: Robot, q: Array, names: list[str]) -> Array:
    """Of the feet's lowest points, m."""
    radius = {c.name: c.radius for c in robot.candidates}
    return np.array([robot.position(q, name)[2] - radius[name] for name in names])


def _measured(dropped: Dropped, run: DropRun) -> tuple[float | None, float, float, float | None]:
    """How late the first landing is, s; the depth, m; and of all strikes the largest change of
    kinetic energy and the error of vertical momentum, relative. Landing and momentum are known on
    level ground alone.
    """
    s, fall = run.strikes, float(np.sqrt(2 * HEIGHT / G))
    first = np.array([s.time[s.world == k][0] for k in range(len(E))])
    after, before = (run.robot.momentum(s.q, u)[:, :3] for u in (s.u_after, s.u_before))
    moved = None
    if dropped.level:
        lifted = (after - before)[:, 2] - s.impulse[..., 0].sum(axis=1)
        moved = float(np.abs(lifted / np.linalg.norm(before, axis=1)).max())
    gained = float((s.kinetic_after / s.kinetic_before - 1).max())
    late = float(np.abs(first - fall).max()) if dropped.level else None
    return late, max(-float(run.gap.min()), 0.0), gained, moved


def _check(
    dropped: Dropped,
    run: DropRun,
    late: float | None,
    deep: float,
    strikes: tuple[float, float | None],
) -> Check:
    allowed = SHALLOW if dropped.level else CURVED
    holds = np.isfinite(run.q).all() and deep < allowed
    holds &= strikes[0] < 1e-12 and (strikes[1] or 0.0) < 1e-10 and (late or 0.0) < 1e-9
    landing = "" if late is None else f"landing {late:.1e} s off, "
    on_time = "" if late is None else "lands on time to 1e-9 s, "
    return Check(
        f"{dropped.name}: {on_time}less than {allowed:g} m deep, no energy from strikes",
        bool(holds),
        f"{landing}{deep:.1e} m, {strikes[0]:+.1e} of the energy",
    )
