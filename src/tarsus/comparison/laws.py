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
from tarsus.comparison.stable_step import find_largest_dt
from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord
from tarsus.model.base_motion import base_position
from tarsus.morphology.fall import has_fallen
from tarsus.mujoco_runs.settings import MujocoSettings, SettingsSelection
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation import default_controller, file_material, resolve
from tarsus.simulation.options import Options, declared_options
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation

LAWS, PEER = "tarsus.contact.laws", "mujoco"
FLAGS = {"mu": "--friction"}  # options of `tarsus compare` by the law parameter that they set
REFINEMENTS = (2, 4)  # divisors of dt for the error bars
TRIAL_DURATION = 1.0  # s that the robot must stand for dt to count as stable
SimulationFactory = Callable[[float], Simulation | MujocoSimulation]


@dataclass(frozen=True, eq=False)
class LawRun:
    """Run of one law at one step size."""

    law: str
    """Name of the law; for MuJoCo with the name of its settings."""
    dt: float
    """Step size, s."""
    numbers: dict[str, Any]
    """Figures of the run, see `compute_figures`."""
    log: xr.Dataset | None
    """Log of the run; None if it diverged at once."""
    failure: str | None
    """Reason why the run failed."""
    warnings: list[str] = field(default_factory=list)
    """Warnings about this run."""
    bars: dict[str, float] = field(default_factory=dict)
    """Error bars: largest difference of each figure from those at dt / 2 and dt / 4."""
    finer: tuple[LawRun, ...] = ()
    """Runs at dt / 2 and dt / 4."""
    largest_dt: float | None = None
    """Largest stable step size of the law, s."""
    settings: MujocoSettings | None = None
    """Settings of MuJoCo, in its runs."""

    @property
    def stands(self) -> bool:
        """Whether the robot neither diverged nor fell."""
        return not self.failure and not self.numbers.get("fell", True)


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison: material, MuJoCo's settings, and additional runs."""

    material: Mapping[str, float] = field(default_factory=dict)
    """Parameters by name, passed to every law that has them."""
    bars: bool = True
    """Whether to run at dt / 2 and dt / 4 too, for error bars."""
    limits: bool = True
    """Whether to search for the largest stable dt of every law."""
    options: Options = field(default_factory=Options)
    """Options of every `Simulation`."""
    mujoco: SettingsSelection = field(default_factory=SettingsSelection)
    """MuJoCo's settings, with one run for each."""


def parse_laws(names: str) -> dict[str, Law | None]:
    """Parse a comma-separated list of laws, without duplicates.

    "all" stands for every law and MuJoCo; the value for MuJoCo is None.
    """
    given = registry.split_names(names)
    named = [name for name in given if name != "all"]
    chosen = [*named, *registry.names(LAWS), PEER] if "all" in given else named
    for name in chosen:
        if not name.endswith(registry.PYTHON_SUFFIX):
            registry.check_name(LAWS, "law", name, (PEER, "all"))
    return {name: None if name == PEER else resolve.resolve_law(name) for name in chosen}


def compare(
    robot: Robot,
    names: str,
    dts: Sequence[float],
    duration: float,
    gait: str = default_controller.AUTO,
    progress: Callable[[str], None] = lambda text: None,
    extra: CompareOptions | None = None,
) -> list[LawRun]:
    """Run every named law at every dt from the same initial state.

    Parameters
    ----------
    robot
        Robot to simulate.
    names
        Comma-separated laws, or "all"; "mujoco" adds MuJoCo.
    dts
        Step sizes in s.
    duration
        Duration of each run in s.
    gait
        Name of the gait; by default that of the robot.
    progress
        Function that is called with a line about the current run.
    extra
        Further options.

    Returns
    -------
    list of LawRun
        Runs by law, then by decreasing dt.
    """
    extra = extra or CompareOptions()
    # robot and controller are the same for all laws; servos are tuned for the longest step
    longest = max(dts)
    robot, controller = default_controller.prepare(robot, gait, longest, [])
    runs, with_file_material = [], robot
    if extra.material.keys() & robot.material.keys():
        left = {k: value for k, value in robot.material.items() if k not in extra.material}
        with_file_material = replace(robot, material=left)
    # one law after the other, MuJoCo once for each of its settings
    laws = dict[str, tuple[Law | MujocoSettings, list[WarningRecord]]]()
    for name, law in parse_laws(names).items():
        if law is None:
            laws |= extra.mujoco.for_robot(with_file_material, extra.material.get("mu"))
        else:
            laws[name] = law, []
    for name, (law, records) in laws.items():
        law_robot = with_file_material
        if isinstance(law, Law):
            law, law_robot = file_material.law_for_robot(name, law_robot, records, flags=FLAGS)
        create, ignored = simulation_factory(
            law_robot, controller, law, extra.material, extra.options
        )
        ignored = [*records, *ignored]
        # the largest stable step
        limit = None
        if extra.limits:
            progress(f"{name}, largest stable dt")
            limit = find_largest_dt(standing_test(create))
        # every step size, with finer runs for the error bars
        for dt in sorted(dts, reverse=True):
            progress(f"{name}, dt {1e3 * dt:g} ms")
            shorter = [dt / k for k in REFINEMENTS] if extra.bars else []
            finer = tuple(run_law(name, create(short), duration) for short in shorter)
            run = add_error_bars(
                run_law(name, create(dt), duration), finer, keep_logs=dt == min(dts)
            )
            runs.append(replace(run, warnings=[*ignored, *run.warnings], largest_dt=limit))
    return runs


def simulation_factory(
    robot: Robot,
    controller: Any,
    law: Law | MujocoSettings,
    material: Mapping[str, float],
    options: Options | None = None,
) -> tuple[SimulationFactory, list[str]]:
    """Create a function of dt that builds the simulation of a law or of MuJoCo.

    Parameters
    ----------
    robot, controller
        Robot and its controller.
    law
        Contact law, or settings of MuJoCo.
    material
        Parameters by name, passed to the law if it has them.
    options
        Options of `Simulation`.

    Returns
    -------
    factory
        Function of dt in s.
    ignored
        Warnings about ignored parameters and options.
    """
    chosen = options or Options()
    if isinstance(law, MujocoSettings):
        settings = law
        ignored = [
            f"{PEER} has no parameter {key!r}; it is ignored." for key in material if key != "mu"
        ]
        ignored += [
            f"{PEER} does not support the option {name!r}; it is ignored."
            for name, value in chosen.items()
            if name != "contacts" and value != declared_options()[name].default
        ]
        common = {"controller": controller, "contacts": chosen.get("contacts")}
        return lambda dt: MujocoSimulation(robot, settings, dt=dt, **common), ignored
    law, ignored = resolve.apply_material(law, material)
    return lambda dt: Simulation(robot, law, controller=controller, dt=dt, **chosen), ignored


def standing_test(create: SimulationFactory) -> Callable[[float], bool]:
    """Create a function of dt that checks whether the robot stands for TRIAL_DURATION.

    The trial writes no log, which is faster.
    """

    def stands(dt: float) -> bool:
        simulation = create(dt)
        start = simulation.q
        simulation.advance(TRIAL_DURATION)
        q = simulation.q
        if not np.isfinite(q).all():
            return False
        robot, path = simulation.robot, np.stack([start, q])
        return not robot.mobile or not has_fallen(robot, path, base_position(robot, path)[:, 2])

    return stands


def add_error_bars(run: LawRun, finer: tuple[LawRun, ...], keep_logs: bool) -> LawRun:
    """Add error bars from finer runs; without `keep_logs`, drop the logs that the picture needs."""
    bars = {}
    if finer and not run.failure and all(not other.failure for other in finer):
        for key, value in run.numbers.items():
            others = [other.numbers.get(key) for other in finer]
            if isinstance(value, float) and all(isinstance(other, float) for other in others):
                bars[key] = float(np.abs(np.array(others, float) - value).max())
    return replace(run, bars=bars, finer=finer) if keep_logs else replace(run, log=None, bars=bars)


def run_law(name: str, simulation: Simulation | MujocoSimulation, duration: float) -> LawRun:
    """Run the simulation of a law, or of MuJoCo, for `duration` seconds."""
    failure = None
    try:
        log = simulation.run(duration)
    except Diverged as diverged:
        log, failure = diverged.log, str(diverged)
    numbers = compute_figures(simulation, log) if log is not None else {}
    if isinstance(simulation, MujocoSimulation) and log is not None:
        # the speed of MuJoCo without our loop in Python
        numbers["steps_per_second"] = 1 / simulation.replay(log).rollout()
    settings = simulation.settings if isinstance(simulation, MujocoSimulation) else None
    messages = [
        message for message in numbers.get("warnings", simulation.warnings) if message != failure
    ]
    return LawRun(name, simulation.dt, numbers, log, failure, messages, settings=settings)


def compute_figures(simulation: Simulation | MujocoSimulation, log: xr.Dataset) -> dict[str, Any]:
    """Compute the summary of a run and the additional figures of a comparison.

    The additional figures are:

    - mu: friction coefficient of the law [1];
    - mean_load: impulse of the ground divided by that of the weight [1];
    - impulse_max: largest normal impulse of one foot in one step, N s;
    - energy_residual_J: largest accumulated energy drift, J.
    """
    numbers = summary(simulation, log)
    weight = -simulation.robot.mass * simulation.robot.gravity_acceleration[2]
    impulse = log["impulse_world"].sel(xyz="z").sum("contact").values
    numbers["mu"] = mean_of_role(log, "friction", missing=None)
    numbers["mean_load"] = float(impulse.sum() / (weight * numbers["duration"]))
    numbers["impulse_max"] = float(log["impulse_contact"].values[..., 0].max(initial=0.0))
    numbers["energy_residual_J"] = float(np.abs(log["energy_drift"].cumsum("time")).max())
    return numbers
