"""`tarsus compare`: the same robot, controller and start under every law and step size.

All runs are judged by the same criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from tarsus import registry
from tarsus.comparison.limit import largest_dt
from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord
from tarsus.morphology.fall import has_fallen
from tarsus.mujoco_runs.settings import MujocoSettings, ShownSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation import default_controller, file_material, resolve
from tarsus.simulation.options import Options, declared
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation

LAWS, PEER = "tarsus.contact.laws", "mujoco"
FLAGS = {"mu": "--friction"}  # of a comparison, by what they set in a law
FINER = (2, 4)  # dt is divided by these for the error bars
TRIAL = 1.0  # s that a step must last to count as stable
Make = Callable[[float], Simulation | MujocoSimulation]


@dataclass(frozen=True, eq=False)
class LawRun:
    """The run of one law at one step size."""

    law: str
    """The law's name; of MuJoCo with that of its settings."""
    dt: float
    """Length of a step, s."""
    numbers: dict[str, Any]
    """The figures of the run, see `figures`."""
    log: xr.Dataset | None
    """The log; None if the run diverged at once."""
    failure: str | None
    """Why the run failed."""
    warnings: list[str] = field(default_factory=list)
    """Notices for the user about this run."""
    bars: dict[str, float] = field(default_factory=dict)
    """Error bars: the largest difference of each figure from those at dt / 2 and dt / 4."""
    finer: tuple[LawRun, ...] = ()
    """The runs at dt / 2 and dt / 4."""
    largest_dt: float | None = None
    """The largest stable step of the law, s."""
    settings: MujocoSettings | None = None
    """MuJoCo's, in its runs."""

    @property
    def stands(self) -> bool:
        """Whether it neither diverged nor fell."""
        return not self.failure and not self.numbers.get("fell", True)


@dataclass(frozen=True)
class Extra:
    """Extra runs of a comparison, beyond one of each law at each dt."""

    material: Mapping[str, float] = field(default_factory=dict)
    """Parameters by name, given to every law that has them."""
    bars: bool = True
    """Run at dt / 2 and dt / 4 too, for error bars."""
    limits: bool = True
    """Search the largest stable dt of every law."""
    options: Options = field(default_factory=Options)
    """Of every `Simulation`."""
    mujoco: ShownSettings = field(default_factory=ShownSettings)
    """MuJoCo's settings, a run for each."""


def laws_named(names: str) -> dict[str, Law | None]:
    """The laws in a list of names separated by commas, each once; None stands for MuJoCo.

    "all" among them is every law and MuJoCo.
    """
    given = registry.split_names(names)
    own = [name for name in given if name != "all"]
    chosen = [*own, *registry.names(LAWS), PEER] if "all" in given else own
    for name in chosen:
        if not name.endswith(registry.PYTHON_SUFFIX):
            registry.check_name(LAWS, "law", name, (PEER, "all"))
    return {name: None if name == PEER else resolve.law(name) for name in chosen}


def compare(
    robot: Robot,
    names: str,
    dts: Sequence[float],
    duration: float,
    gait: str = default_controller.AUTO,
    progress: Callable[[str], None] = lambda text: None,
    extra: Extra | None = None,
) -> list[LawRun]:
    """Run every law named at every dt, from the same start, for `duration` seconds.

    names: laws separated by commas, or "all"; "mujoco" among them adds MuJoCo.
    dts: step sizes, s.
    gait: its name; None: the robot's default.
    progress: called with a line on what is being run.
    """
    extra = extra or Extra()
    # what all laws share
    longest = max(dts)  # one controller for all, its servos for the longest step
    robot, controller = default_controller.prepare(robot, gait, longest, [])
    runs, unless_given = [], robot
    if extra.material.keys() & robot.material.keys():
        left = {k: value for k, value in robot.material.items() if k not in extra.material}
        unless_given = replace(robot, material=left)
    # one law after the other, MuJoCo once for each of its settings
    laws = dict[str, tuple[Law | MujocoSettings, list[WarningRecord]]]()
    for name, law in laws_named(names).items():
        if law is None:
            laws |= extra.mujoco.of(unless_given, extra.material.get("mu"))
        else:
            laws[name] = law, []
    for name, (law, told) in laws.items():
        standing = unless_given
        if isinstance(law, Law):
            law, standing = file_material.law_for_robot(name, standing, told, flags=FLAGS)
        make, ignored = maker(standing, controller, law, extra.material, extra.options)
        ignored = [*told, *ignored]
        # the largest time step with which it stands
        limit = None
        if extra.limits:
            progress(f"{name}, largest stable dt")
            limit = largest_dt(stands_at(make))
        # every time step, with finer runs for the error bars
        for dt in sorted(dts, reverse=True):
            progress(f"{name}, dt {1e3 * dt:g} ms")
            shorter = [dt / k for k in FINER] if extra.bars else []
            finer = tuple(run_of(name, make(short), duration) for short in shorter)
            own = with_bars(run_of(name, make(dt), duration), finer, keep=dt == min(dts))
            runs.append(replace(own, warnings=[*ignored, *own.warnings], largest_dt=limit))
    return runs


def maker(
    robot: Robot,
    controller: Any,
    law: Law | MujocoSettings,
    material: Mapping[str, float],
    options: Options | None = None,
) -> tuple[Make, list[str]]:
    """A function of dt that makes the simulation of a law, or MuJoCo's at some settings, and
    notices of ignored material and options.
    """
    chosen = options or Options()
    if isinstance(law, MujocoSettings):
        settings = law
        ignored = [f"{PEER} has no parameter {key!r}: ignored." for key in material if key != "mu"]
        ignored += [
            f"{PEER} does not take the option {name!r}: ignored."
            for name, value in chosen.items()
            if name != "contacts" and value != declared()[name].default
        ]
        given = {"controller": controller, "contacts": chosen.get("contacts")}
        return lambda dt: MujocoSimulation(robot, settings, dt=dt, **given), ignored
    law, ignored = resolve.apply_material(law, material)
    return lambda dt: Simulation(robot, law, controller=controller, dt=dt, **chosen), ignored


def stands_at(make: Make) -> Callable[[float], bool]:
    """A function of dt: whether the robot is still upright after TRIAL seconds.

    It needs no log, which is faster.
    """

    def stands(dt: float) -> bool:
        simulation = make(dt)
        start = simulation.q
        simulation.advance(TRIAL)
        q = simulation.q
        if not np.isfinite(q).all():
            return False
        path = np.stack([start, q])
        return not has_fallen(simulation.robot, path, path[:, 2])

    return stands


def with_bars(run: LawRun, finer: tuple[LawRun, ...], keep: bool) -> LawRun:
    """The run with its error bars; keep: keep the logs, for the picture."""
    bars = {}
    if finer and not run.failure and all(not other.failure for other in finer):
        for key, value in run.numbers.items():
            others = [other.numbers.get(key) for other in finer]
            if isinstance(value, float) and all(isinstance(other, float) for other in others):
                bars[key] = float(np.abs(np.array(others, float) - value).max())
    return replace(run, bars=bars, finer=finer) if keep else replace(run, log=None, bars=bars)


def run_of(name: str, simulation: Simulation | MujocoSimulation, duration: float) -> LawRun:
    """The run of a law, or of MuJoCo, for `duration` seconds."""
    failure = None
    try:
        log = simulation.run(duration)
    except Diverged as diverged:
        log, failure = diverged.log, str(diverged)
    numbers = figures(simulation, log) if log is not None else {}
    if isinstance(simulation, MujocoSimulation) and log is not None:
        # its own speed: the loop in Python is ours
        numbers["steps_per_second"] = 1 / simulation.replay(log).rollout()
    settings = simulation.settings if isinstance(simulation, MujocoSimulation) else None
    notices = [
        notice for notice in numbers.get("warnings", simulation.warnings) if notice != failure
    ]
    return LawRun(name, simulation.dt, numbers, log, failure, notices, settings=settings)


def figures(simulation: Simulation | MujocoSimulation, log: xr.Dataset) -> dict[str, Any]:
    """The summary of a run, and what a comparison adds.

    mu: the law's friction coefficient [1].
    mean_load: impulse of the ground over that of the weight [1].
    impulse_max: largest normal impulse of one foot in one step, N s.
    energy_residual_J: largest drift of energy so far, J.
    """
    numbers = summary(simulation, log)
    weight = -simulation.robot.mass * simulation.robot.gravity_acceleration[2]
    impulse = log["impulse_world"].sel(xyz="z").sum("contact").values
    numbers["mu"] = mean_of_role(log, "friction", missing=None)
    numbers["mean_load"] = float(impulse.sum() / (weight * numbers["duration"]))
    numbers["impulse_max"] = float(log["impulse_contact"].values[..., 0].max(initial=0.0))
    numbers["energy_residual_J"] = float(np.abs(log["energy_drift"].cumsum("time")).max())
    return numbers
