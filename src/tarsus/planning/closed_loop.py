"""A planner in a world that may differ from its own: what it reached, and how long it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnmetCondition
from tarsus.morphology.legs import Leg, diagonals, find_legs, why_no_diagonal_legs
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.planning.latency import Latency
from tarsus.planning.planner import Planner
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.summary import has_fallen
from tarsus.simulation.simulation import Simulation
from tarsus.spatial.quaternion import zyx_angles

Array = NDArray[np.float64]
LIFTED = 0.005  # m: a foot that is higher is in the air
SETTLED = 1.0  # s after the beginning, or a push, before what is reached counts


@dataclass(frozen=True)
class Shove:
    """A force on the base.

    force: N; direction: degrees to the left of x of the world; at: s; lasts: s
    """

    force: float
    direction: float = 90.0
    at: float = 1.0
    lasts: float = 0.1

    def check(self, seconds: float) -> None:
        """TarsusError unless it is one, and comes and goes within a run of so many seconds."""
        for name in ("force", "direction", "at", "lasts"):
            if not np.isfinite(getattr(self, name)):
                raise InvalidValue(
                    f"the push's {name} must be finite, not {getattr(self, name)}.", name
                )
        if not 0 < self.at < self.at + self.lasts < seconds:
            raise InvalidValue(
                f"the push from {self.at:g} to {self.at + self.lasts:g} s must lie within the run,"
                f" 0 to {seconds:g} s.",
                "at",
            )

    def vector(self) -> Array:
        """The force (3,), N, in the world's axes."""
        angle = np.deg2rad(self.direction)
        return self.force * np.array([np.cos(angle), np.sin(angle), 0.0])


@dataclass(frozen=True)
class Reached:
    """How a planner did.

    seed: of its samples; seconds: simulated; fell, diverged: whether the robot did
    speed, sideways: m/s, turn: rad/s, on average once settled; still: m/s, of the base over the
        last half second; rise: m, of the lowest point of contact from beginning to end; leans: rad,
        of the base at most once settled
    lifted: share of the settled time that a foot is in the air, on average
    together: of pairs of feet the correlation of standing over that time, by "ends", "sides" and
        "diagonals": 1 where they always do the same, -1 where the opposite; of four legs alone
    latency: of its plans; delay: s, 0 where time stood still
    """

    seed: int
    seconds: float
    fell: bool
    diverged: bool
    speed: float
    sideways: float
    turn: float
    still: float
    rise: float
    leans: float
    lifted: float
    together: Mapping[str, float]
    latency: Latency
    delay: float
    asked: Mapping[str, float]


def run(
    planner: Planner,
    world: Simulation | MujocoSimulation,
    seconds: float,
    shove: Shove | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[xr.Dataset, Reached]:
    """The log of a world that the planner controls, and what came of it; it begins anew.

    world: made with controller=planner, ours with pushes of its base for a shove
    A world that diverges ends there.
    """
    planner.reset()
    base = planner.robot.bodies[0].name
    parts: list[tuple[float, Array]] = [(seconds, np.zeros(3))]
    if shove is not None:
        shove.check(seconds)
        rest = seconds - shove.at - shove.lasts
        parts = [(shove.at, np.zeros(3)), (shove.lasts, shove.vector()), (rest, np.zeros(3))]
    # one log after the other: what pushes is the same all over each
    logs, diverged = list[xr.Dataset](), False
    for lasts, force in parts:
        if shove is not None:
            _push(world, base, force)
        try:
            logs.append(world.run(lasts, progress))
        except Diverged as stop:
            diverged = True
            logs += [] if stop.log is None else [stop.log]
            break
    if not logs:
        raise UnmetCondition(
            "the world diverged in its first step: choose a shorter time step or another law.", "dt"
        )
    whole = logs[0]
    if len(logs) > 1:
        whole = xr.concat(logs, "time", data_vars="minimal", coords="minimal", compat="override")
        whole = whole.assign_attrs(logs[0].attrs)
    begin = SETTLED + (shove.at + shove.lasts if shove is not None else 0.0)
    return whole, _reached(planner, whole, begin, diverged)


def _push(world: Simulation | MujocoSimulation, base: str, force: Array) -> None:
    """A force (3,), N, on the base until another one."""
    if isinstance(world, Simulation):
        world.set(push={base: force})
    else:
        world.data.xfrc_applied[1, :3] = force  # body 0 is the ground


def _reached(planner: Planner, log: xr.Dataset, begin: float, diverged: bool) -> Reached:
    """From a log whose motion counts from a time on, s."""
    # the base's motion along its heading
    time, q, u = (log[name].values for name in ("time", "q", "u"))
    after = time >= min(begin, time[-1] - 0.5)
    _, x, y, _ = q[:, 3:7].T
    heading = zyx_angles(q[:, 3:7])[:, 0]
    along = np.cos(heading) * u[:, 0] + np.sin(heading) * u[:, 1]
    left = np.cos(heading) * u[:, 1] - np.sin(heading) * u[:, 0]
    turned = np.gradient(np.unwrap(heading), time)
    upright = np.clip(1 - 2 * (x * x + y * y), -1, 1)
    # the feet
    lowest = log["contact_point"].values[..., 2].min(axis=1)
    stands = log["gap"].values[after] < LIFTED
    last = time > time[-1] - 0.5
    return Reached(
        planner.seed,
        float(time[-1]),
        has_fallen(planner.robot, log) or diverged,
        diverged,
        *(float(part[after].mean()) for part in (along, left, turned)),
        still=float(np.linalg.norm(u[last][:, :3], axis=1).mean()),
        rise=float(lowest[last].min() - lowest[0]),
        leans=float(np.arccos(upright[after]).max()),
        lifted=float(1 - stands.mean()),
        together=_together(planner.robot, stands, [str(name) for name in log["contact"].values]),
        latency=planner.latency(),
        delay=planner.pace.delay,
        asked=planner.asked,
    )


def _together(robot: Robot, stands: NDArray[np.bool_], names: list[str]) -> dict[str, float]:
    """The mean correlation of both pairs of feet of each kind; a foot that never changes has none.

    stands (time, contacts): whether each does, by their names
    """
    if why_no_diagonal_legs(robot):
        return {}
    legs, found = find_legs(robot), dict[str, float]()
    middle = np.mean([leg.hip for leg in legs], axis=0)
    for name, keeps in {"ends": 0, "sides": 1}.items():
        same = [np.sign(leg.hip[keeps] - middle[keeps]) for leg in legs]
        found[name] = _correlation(legs, same, stands, names)
    return found | {"diagonals": _correlation(legs, diagonals(legs), stands, names)}


def _correlation(
    legs: Sequence[Leg], group: Sequence[float], stands: NDArray[np.bool_], names: list[str]
) -> float:
    """Of the two feet of each group, on average."""
    values = []
    for which in set(group):
        own = [leg.name for leg, g in zip(legs, group, strict=True) if g == which]
        a, b = (stands[:, names.index(name)].astype(float) for name in own)
        spread = a.std() * b.std()
        values.append(np.mean((a - a.mean()) * (b - b.mean())) / spread if spread else 0.0)
    return float(np.mean(values))
