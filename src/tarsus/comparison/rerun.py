"""`tarsus rerun`: repeat a run from its log alone and compare the results bit for bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus import registry
from tarsus.errors import (
    InvalidFile,
    TarsusError,
    TarsusWarning,
    UnknownName,
    UnmetCondition,
    Unsupported,
    UntrustedFile,
    unknown_name_error,
)
from tarsus.exchange.table import FORMATS, read_table
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation.options import declared_options
from tarsus.simulation.recording import provenance
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.log import read_log
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log, check_robot
from tarsus.simulation.recording.part_serialization import (
    create_dataclass,
    deserialize,
    part_from_attributes,
)
from tarsus.simulation.simulation import Simulation

REQUIRED = ("robot", "dt", "gait", "options", "command", "tau", "q", "u")
STEP_TOLERANCE = 1e-6  # relative difference that two steps may have in length
PARTS = ("robot", "law", "stepper", "terrain", "controller")
IGNORED_ATTRIBUTES = {  # they differ from run to run, or other attributes imply them
    *("command_line", "wall_time", "warnings", "partial", "robot_options", "robot_file"),
    *("versions", "seeds", "law_file", "stepper_file", "terrain_file", "gait_file"),
}
REPLAY_MESSAGE = (
    "the controller was the Python function {name}: its torques are replayed from the log, and the"
    " function itself is not called."
)


@dataclass(frozen=True)
class Deviation:
    """Variable of the log that differs in the repeated run."""

    name: str
    """Name of the variable."""
    step: int | None
    """Step of the first difference, counted from 0; None for a variable without time."""
    time: float | None
    """Time of the first difference, s; None for a variable without time."""
    largest: float
    """Largest difference, in the variable's unit; NaN for text or different shapes."""
    count: int
    """Number of values that differ."""


@dataclass(frozen=True, eq=False)
class RerunResult:
    """Repeated run and its differences from the log."""

    log: xr.Dataset
    """Log of the repeated run."""
    steps: int
    """Number of steps compared."""
    variables: int
    """Number of variables compared."""
    changed: Mapping[str, tuple[Any, Any]]
    """Attributes that changed, such as versions: {attribute: (in the log, now)}."""
    deviations: tuple[Deviation, ...]
    """Variables that differ, sorted by the time of their first difference."""
    notes: tuple[str, ...]
    """Limits of the comparison."""

    @property
    def reproduced(self) -> bool:
        """Whether every variable has the same bits."""
        return not self.deviations


def rerun(run: str | Path | xr.Dataset, **parts: Any) -> RerunResult:
    """Repeat the run that a log describes, from the same state, and compare every variable.

    A Python controller is called only if it is passed; otherwise its torques are replayed from the
    log.

    Parameters
    ----------
    run
        Log of `tarsus run` or `Simulation.run`, complete or partial, or its file.
    **parts
        `robot`, `law`, `stepper`, `terrain` or `controller`: objects that replace those of the
        log, for parts that were created in Python and cannot be stored in a log.

    Returns
    -------
    RerunResult
        Repeated run and its differences.

    Raises
    ------
    TarsusError
        If the log lacks what is needed to repeat the run.
    """
    original = _open(Path(run)) if isinstance(run, str | Path) else run
    if not isinstance(original, xr.Dataset) or "robot" not in original.attrs:
        raise InvalidFile("not a log of tarsus run: the attribute robot is missing.", "robot")
    if unknown := [name for name in parts if name not in PARTS]:
        raise unknown_name_error("part of a log", unknown[0], PARTS)
    # repeat the run
    log, notes = check_log(original, REQUIRED), list[str]()
    _check_times(log)
    attributes = provenance.parse_attributes(original.attrs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)  # the log already holds them
        simulation, replaced = _prepare(log, attributes, parts, notes)
        try:
            seconds = log.sizes["time"] * float(log.attrs["dt"])
            if "push" in log and isinstance(simulation, Simulation):
                new = simulation.run(seconds, push=_create_pushes(log))
            else:
                new = simulation.run(seconds)
        except Diverged as diverged:
            if diverged.log is None:
                raise
            new = diverged.log
            notes.append(f"the repeated run diverged: {diverged}")
    # compare
    now = provenance.parse_attributes(new.attrs)
    changed = {
        name: (attributes.get(name), now.get(name))
        for name in sorted({*attributes, *now} - IGNORED_ATTRIBUTES - replaced)
        if name in attributes and attributes.get(name) != now.get(name)
    }
    for name, version in attributes.get("versions", {}).items():
        if version != now["versions"].get(name):
            changed[f"version of {name}"] = version, now["versions"].get(name)
    deviations = _list_deviations(original, new)
    names = [name for name in original.variables if name in new.variables]
    return RerunResult(new, log.sizes["time"], len(names), changed, deviations, tuple(notes))


def _check_times(log: xr.Dataset) -> None:
    """Raise UnmetCondition unless the log holds every step, each of the length dt."""
    time, dt = log["time"].values, float(log.attrs["dt"])
    if not np.allclose(np.diff(time), dt, rtol=STEP_TOLERANCE, atol=1e-9 * time[-1]):
        raise UnmetCondition(
            f"the times of the log are not dt = {dt:g} s apart; only a log of every step can be"
            " rerun.",
            "time",
        )


def _open(path: Path) -> Any:
    """Read a log from netCDF or from a table of `tarsus export`."""
    if path.suffix in FORMATS:
        return read_table(path)
    return read_log(path)


def _prepare(
    log: xr.Dataset, attributes: Mapping[str, Any], parts: Mapping[str, Any], notes: list[str]
) -> tuple[Simulation | MujocoSimulation, set[str]]:
    """Build the simulation at the start of the log.

    Returns
    -------
    simulation
        Simulation to run.
    replaced
        Attributes that differ because the controller's torques are replayed.
    """
    chosen = {"robot": check_robot(log, parts.get("robot") or robot_of(log))}
    for kind in ("law", "stepper", "terrain"):
        if kind in parts:
            chosen[kind] = parts[kind]
        elif not (attributes.get("engine") and kind in ("law", "stepper")):
            chosen[kind] = _recreate(attributes, kind)
    # the controller: a gait, none, or the torques of a function
    replaced = set[str]()
    if "controller" in parts:
        chosen["controller"] = parts["controller"]
    elif attributes.get("gait_class"):
        chosen["controller"] = _recreate(attributes, "gait")
    elif attributes["gait"] != "none":
        chosen["controller"] = _replay_controller(log, attributes)
        notes.append(REPLAY_MESSAGE.format(name=attributes["gait"]))
        replaced |= {f"gait{end}" for end in ("", "_class", "_file", "_file_sha256")}
    build = _build_mujoco if attributes.get("engine") else _build_tarsus
    with registry.distrust_files():
        return build(log, attributes, chosen), replaced


def _recreate(attributes: Mapping[str, Any], kind: str) -> Any:
    """Recreate a part of the run; the error of a part that cannot be recreated names it."""
    try:
        return part_from_attributes(kind, attributes)
    except UntrustedFile:
        raise
    except TarsusError as error:
        option = "controller" if kind == "gait" else kind
        context = f"the {kind} of the log cannot be recreated (pass it as {option}=...)"
        raise error.with_context(context) from None


def _replay_controller(
    log: xr.Dataset, attributes: Mapping[str, Any]
) -> Callable[..., NDArray[Any]]:
    """Create a controller that returns the log's torques.

    Raises
    ------
    UnmetCondition
        If the actuators changed what the controller returned.
    """
    options = attributes["options"]
    if options.get("actuators", "motor") != "motor" or options.get("varied"):
        raise UnmetCondition(
            f"the log lacks the output of the Python controller {attributes['gait']} and has only"
            " the torques after the actuators; pass the function as controller=...",
            "controller",
        )
    tau, dt, first = log["tau"].values, float(log.attrs["dt"]), float(log["time"].values[0])

    def torques(t: float, q: NDArray[Any], u: NDArray[Any]) -> NDArray[Any]:
        return tau[min(max(round((t - first) / dt) + 1, 0), len(tau) - 1)]

    return torques


def _create_pushes(log: xr.Dataset) -> Callable[[float], dict[str, NDArray[Any]]]:
    """Create a function of time in s that returns the log's pushes."""
    dt, first = float(log.attrs["dt"]), float(log["time"].values[0])
    names, forces = [str(name) for name in log["pushed"].values], log["push"].values

    def push(t: float) -> dict[str, NDArray[Any]]:
        now = forces[min(max(round((t - first) / dt) + 1, 0), len(forces) - 1)]
        return {name: now[..., k, :] for k, name in enumerate(names)}

    return push


def _build_tarsus(
    log: xr.Dataset, attributes: Mapping[str, Any], chosen: dict[str, Any]
) -> Simulation:
    """Build a simulation of Tarsus and restore its changed registers and its state."""
    if "state_start" not in log:
        raise UnmetCondition(
            "this log does not contain its initial state (state_start), so it cannot be rerun.",
            "state_start",
        )
    options = {name: _option(name, value) for name, value in attributes["options"].items()}
    for name in options:
        if name not in declared_options():
            raise unknown_name_error("option", name, declared_options())
    if options.get("worlds", 1) != log.sizes.get("world", 1):
        raise UnmetCondition(
            f"the log contains {log.sizes.get('world', 1)} of the {options.get('worlds', 1)} worlds"
            " that ran; only a log of all worlds can be rerun.",
            "world",
        )
    simulation = Simulation(**chosen, dt=float(log.attrs["dt"]), **options)
    worlds = simulation.backend
    for name, value in attributes.get("registers", {}).items():
        if name not in worlds:
            raise UnknownName(
                f"this run set the parameter {name}, which no longer exists; use the version that"
                " wrote the log.",
                name,
            )
        shape = worlds.get(name).shape
        try:
            numbers = np.asarray(deserialize(value), float)
        except (TypeError, ValueError):  # text, or rows of different lengths
            numbers = None
        if numbers is None or numbers.shape not in (shape, shape[1:]):
            raise InvalidFile(
                f"registers.{name} of the log must be numbers of shape {shape[1:]}.",
                f"registers.{name}",
            )
        worlds.set(name, numbers)
    simulation.restore(log["state_start"].values)
    return simulation


def _option(name: str, value: Any) -> Any:
    """Recreate an option of the simulation; lists are stored as arrays."""
    option = deserialize(value)
    if isinstance(option, np.ndarray) and name not in ("mass_scale",):
        return option.tolist()
    return option


def _build_mujoco(
    log: xr.Dataset, attributes: Mapping[str, Any], chosen: dict[str, Any]
) -> MujocoSimulation:
    """Build a simulation in MuJoCo from its initial state."""
    if not np.isclose(float(log["time"].values[0]), float(log.attrs["dt"])):
        raise Unsupported(
            "a MuJoCo run can be rerun only from time 0, but this log starts later.", "time"
        )
    settings = create_dataclass(MujocoSettings, attributes.get("law_parameters", {}))
    simulation = MujocoSimulation(
        chosen["robot"],
        settings,
        chosen["terrain"],
        chosen.get("controller"),
        float(log.attrs["dt"]),
        attributes["options"].get("contacts"),
    )
    if attributes["command"]:
        simulation.set(command=attributes["command"])
    return simulation


def _list_deviations(recorded: xr.Dataset, repeated: xr.Dataset) -> tuple[Deviation, ...]:
    """List the variables that differ between two logs, sorted by their first difference."""
    deviations = []
    for name in map(
        str, [*recorded.variables, *(n for n in repeated.variables if n not in recorded.variables)]
    ):
        if name not in recorded.variables or name not in repeated.variables:
            deviations.append(Deviation(name, None, None, np.nan, 0))
            continue
        if set(recorded[name].dims) != set(repeated[name].dims):
            deviations.append(Deviation(name, None, None, np.nan, repeated[name].size))
            continue
        a, b = (log[name].transpose(*recorded[name].dims).values for log in (recorded, repeated))
        # number of differing values, largest difference, first step
        if a.shape != b.shape:
            deviations.append(Deviation(name, None, None, np.nan, abs(a.size - b.size)))
            continue
        if a.dtype.kind not in "fiu":
            a, b = a.astype(str), b.astype(str)
        differs = ~((a == b) | ((a != a) & (b != b)))
        if not differs.any():
            continue
        steps = (
            np.flatnonzero(differs.reshape(len(a), -1).any(1))
            if "time" in recorded[name].dims
            else []
        )
        step = int(steps[0]) if len(steps) else None
        numeric = a.dtype.kind in "fiu"
        with np.errstate(invalid="ignore"):
            largest = float(np.nanmax(np.abs(b[differs] - a[differs]))) if numeric else np.nan
        time = None if step is None else float(recorded["time"].values[step])
        deviations.append(Deviation(name, step, time, largest, int(differs.sum())))
    return tuple(sorted(deviations, key=lambda d: -1 if d.step is None else d.step))
