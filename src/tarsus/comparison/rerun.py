"""`tarsus rerun`: a log's run made again from the log alone, and compared bit for bit."""

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
    unknown_name,
)
from tarsus.exchange.table import FORMATS, read_table
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation.options import declared
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

NEEDED = ("robot", "dt", "gait", "options", "command", "tau", "q", "u")
EVEN = 1e-6  # of a step: how far two steps may differ in length
PARTS = ("robot", "law", "stepper", "terrain", "controller")
OWN_WAY = {  # attributes that differ from run to run, or are told by others
    *("command_line", "wall_time", "warnings", "partial", "robot_options", "robot_file"),
    *("versions", "seeds", "law_file", "stepper_file", "terrain_file", "gait_file"),
}
REPLAYED = (
    "the controller was the Python function {name}: the torques that it gave are replayed from the"
    " log, and the function itself is not run."
)


@dataclass(frozen=True)
class Deviation:
    """A variable of the log that came out otherwise.

    step, time: of the first difference, counted from 0, and s; None for what has no time
    largest: of the differences, in the variable's unit; NaN where that means nothing
    count: how many numbers differ
    """

    name: str
    step: int | None
    time: float | None
    largest: float
    count: int


@dataclass(frozen=True, eq=False)
class RunAgain:
    """What came of a run made again.

    log: the new one
    steps, variables: how many were compared
    otherwise: what was not as it was then: {attribute: (then, now)}
    deviations: variables that came out otherwise, the first to do so first
    notes: what the comparison leaves out
    """

    log: xr.Dataset
    steps: int
    variables: int
    otherwise: Mapping[str, tuple[Any, Any]]
    deviations: tuple[Deviation, ...]
    notes: tuple[str, ...]

    @property
    def reproduced(self) -> bool:
        """Whether every variable has the same bits."""
        return not self.deviations


def rerun(run: str | Path | xr.Dataset, **parts: Any) -> RunAgain:
    """Repeat the run of a log from the same state, and compare every variable.

    A Python controller is not run again unless it is given: its torques are taken from the log.

    Parameters
    ----------
    run
        A log of `tarsus run` or `Simulation.run`, complete or partial, or its file.
    **parts
        `robot`, `law`, `stepper`, `terrain` or `controller`: objects to use instead of those that
        the log names, for parts that were made in Python and that a log cannot contain.

    Returns
    -------
    RunAgain
        The new log and its deviations from the old one.

    Raises
    ------
    TarsusError
        If the log lacks what the run needs; the message names it.
    """
    given = _opened(Path(run)) if isinstance(run, str | Path) else run
    if not isinstance(given, xr.Dataset) or "robot" not in given.attrs:
        raise InvalidFile("not a log of tarsus run: it does not say what was run.", "robot")
    if strange := [name for name in parts if name not in PARTS]:
        raise unknown_name("part of a log", strange[0], PARTS)
    # the run, made again
    log, notes = check_log(given, NEEDED), list[str]()
    _check_times(log)
    told = provenance.parse_attributes(given.attrs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)  # those of the run, which the log has
        simulation, again = _prepared(log, told, parts, notes)
        try:
            seconds = log.sizes["time"] * float(log.attrs["dt"])
            if "push" in log and isinstance(simulation, Simulation):
                new = simulation.run(seconds, push=_pushes(log))
            else:
                new = simulation.run(seconds)
        except Diverged as diverged:
            if diverged.log is None:
                raise
            new = diverged.log
            notes.append(f"it diverged this time: {diverged}")
    # compared
    now = provenance.parse_attributes(new.attrs)
    otherwise = {
        name: (told.get(name), now.get(name))
        for name in sorted({*told, *now} - OWN_WAY - again)
        if name in told and told.get(name) != now.get(name)
    }
    for name, version in told.get("versions", {}).items():
        if version != now["versions"].get(name):
            otherwise[f"version of {name}"] = version, now["versions"].get(name)
    found = _deviations(given, new)
    names = [name for name in given.variables if name in new.variables]
    return RunAgain(new, log.sizes["time"], len(names), otherwise, found, tuple(notes))


def _check_times(log: xr.Dataset) -> None:
    """Raise UnmetCondition unless every step is there, each of the length dt."""
    time, dt = log["time"].values, float(log.attrs["dt"])
    if not np.allclose(np.diff(time), dt, rtol=EVEN, atol=1e-9 * time[-1]):
        raise UnmetCondition(
            f"the times of the log are not dt = {dt:g} s apart; only a log of every step can be"
            " rerun.",
            "time",
        )


def _opened(path: Path) -> Any:
    """The log in a file: netCDF, or a table of `tarsus export`."""
    if path.suffix in FORMATS:
        return read_table(path)
    return read_log(path)


def _prepared(
    log: xr.Dataset, told: Mapping[str, Any], parts: Mapping[str, Any], notes: list[str]
) -> tuple[Simulation | MujocoSimulation, set[str]]:
    """The simulation as it was at the log's start, and the attributes that must differ."""
    chosen = {"robot": check_robot(log, parts.get("robot") or robot_of(log))}
    for kind, name in (("law", "law"), ("stepper", "stepper"), ("terrain", "terrain")):
        if kind in parts:
            chosen[kind] = parts[kind]
        elif not (told.get("engine") and kind in ("law", "stepper")):
            chosen[kind] = _part(told, name)
    # the controller: a gait, none, or the torques of a function
    again = set[str]()
    if "controller" in parts:
        chosen["controller"] = parts["controller"]
    elif told.get("gait_class"):
        chosen["controller"] = _part(told, "gait")
    elif told["gait"] != "none":
        chosen["controller"] = _replay(log, told)
        notes.append(REPLAYED.format(name=told["gait"]))
        again |= {f"gait{end}" for end in ("", "_class", "_file", "_file_sha256")}
    on = _on_mujoco if told.get("engine") else _on_tarsus
    with registry.untrusted_names():
        return on(log, told, chosen), again


def _part(told: Mapping[str, Any], kind: str) -> Any:
    """A part of the run as it was; TarsusError naming it if that cannot be."""
    try:
        return part_from_attributes(kind, told)
    except UntrustedFile:
        raise
    except TarsusError as error:
        option = "controller" if kind == "gait" else kind
        context = f"the {kind} of the log cannot be recreated (pass it as {option}=...)"
        raise error.within(context) from None


def _replay(log: xr.Dataset, told: Mapping[str, Any]) -> Callable[..., NDArray[Any]]:
    """A controller that gives the log's torques; TarsusError where these are not what was asked."""
    options = told["options"]
    if options.get("actuators", "motor") != "motor" or options.get("varied"):
        raise UnmetCondition(
            f"the log does not hold what the Python controller {told['gait']} returned, only the"
            " torques after the actuators; pass the function as controller=...",
            "controller",
        )
    tau, dt, first = log["tau"].values, float(log.attrs["dt"]), float(log["time"].values[0])

    def torques(t: float, q: NDArray[Any], u: NDArray[Any]) -> NDArray[Any]:
        return tau[min(max(round((t - first) / dt) + 1, 0), len(tau) - 1)]

    return torques


def _pushes(log: xr.Dataset) -> Callable[[float], dict[str, NDArray[Any]]]:
    """The log's pushes at a time, s."""
    dt, first = float(log.attrs["dt"]), float(log["time"].values[0])
    names, held = [str(name) for name in log["pushed"].values], log["push"].values

    def push(t: float) -> dict[str, NDArray[Any]]:
        now = held[min(max(round((t - first) / dt) + 1, 0), len(held) - 1)]
        return {name: now[..., k, :] for k, name in enumerate(names)}

    return push


def _on_tarsus(log: xr.Dataset, told: Mapping[str, Any], chosen: dict[str, Any]) -> Simulation:
    """Our own simulation, its changed registers and its whole state restored."""
    if "state_start" not in log:
        raise UnmetCondition(
            "this log does not hold the state at its start, so it cannot be rerun.", "state_start"
        )
    options = {name: _option(name, value) for name, value in told["options"].items()}
    for name in options:
        if name not in declared():
            raise unknown_name("option", name, declared())
    if options.get("worlds", 1) != log.sizes.get("world", 1):
        raise UnmetCondition(
            f"the log holds {log.sizes.get('world', 1)} of the {options.get('worlds', 1)} worlds"
            " that ran; only a log of all worlds can be rerun.",
            "world",
        )
    simulation = Simulation(**chosen, dt=float(log.attrs["dt"]), **options)
    worlds = simulation.backend
    for name, value in told.get("registers", {}).items():
        if name not in worlds:
            raise UnknownName(
                f"this run set the parameter {name}, which the step no longer has.", name
            )
        numbers, shape = deserialize(value), worlds.get(name).shape
        if np.shape(numbers) not in (shape, shape[1:]):
            raise InvalidFile(
                f"registers.{name} of the log must have shape {shape[1:]}.", f"registers.{name}"
            )
        worlds.set(name, numbers)
    simulation.restore(log["state_start"].values)
    return simulation


def _option(name: str, value: Any) -> Any:
    """An option of the simulation as it was given."""
    found = deserialize(value)
    if isinstance(found, np.ndarray) and name not in ("mass_scale",):
        return found.tolist()
    return found


def _on_mujoco(
    log: xr.Dataset, told: Mapping[str, Any], chosen: dict[str, Any]
) -> MujocoSimulation:
    """The same on MuJoCo, from its start."""
    if not np.isclose(float(log["time"].values[0]), float(log.attrs["dt"])):
        raise Unsupported(
            "a MuJoCo run can be rerun only from time 0, and this one started later.", "time"
        )
    settings = create_dataclass(MujocoSettings, told.get("law_parameters", {}))
    simulation = MujocoSimulation(
        chosen["robot"],
        settings,
        chosen["terrain"],
        chosen.get("controller"),
        float(log.attrs["dt"]),
        told["options"].get("contacts"),
    )
    if told["command"]:
        simulation.set(command=told["command"])
    return simulation


def _deviations(then: xr.Dataset, now: xr.Dataset) -> tuple[Deviation, ...]:
    """Every variable that is not the same in both, the first in time first."""
    found = []
    for name in map(str, [*then.variables, *(n for n in now.variables if n not in then.variables)]):
        if name not in then.variables or name not in now.variables:
            found.append(Deviation(name, None, None, np.nan, 0))
            continue
        if set(then[name].dims) != set(now[name].dims):
            found.append(Deviation(name, None, None, np.nan, now[name].size))
            continue
        a, b = (log[name].transpose(*then[name].dims).values for log in (then, now))
        # how many numbers, how much, and from which step on
        if a.shape != b.shape:
            found.append(Deviation(name, None, None, np.nan, abs(a.size - b.size)))
            continue
        if a.dtype.kind not in "fiu":
            a, b = a.astype(str), b.astype(str)
        differs = ~((a == b) | ((a != a) & (b != b)))
        if not differs.any():
            continue
        steps = (
            np.flatnonzero(differs.reshape(len(a), -1).any(1)) if "time" in then[name].dims else []
        )
        step = int(steps[0]) if len(steps) else None
        numbers = a.dtype.kind in "fiu"
        with np.errstate(invalid="ignore"):
            largest = float(np.nanmax(np.abs(b[differs] - a[differs]))) if numbers else np.nan
        time = None if step is None else float(then["time"].values[step])
        found.append(Deviation(name, step, time, largest, int(differs.sum())))
    return tuple(sorted(found, key=lambda d: -1 if d.step is None else d.step))
