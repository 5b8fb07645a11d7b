"""Check whether robots stand: each is loaded from its file and controlled for ten seconds.

A robot whose file has position servos and a standing keyframe is first controlled by these. If it
has none, or falls, the gait `stand` controls it, with servos tuned for its weight and the step. The
step is 2.5 ms, and 1 ms if the robot does not stand. An error with one robot becomes a row of the
table and does not end the run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry, robots
from tarsus.dynamics import tree
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown_name_error
from tarsus.files import is_file
from tarsus.model.base_motion import base_position
from tarsus.model.robot_data import ARMS, LEGGED, find_file, robots_folder
from tarsus.morphology.fall import MIN_HEIGHT_SHARE, MIN_UPRIGHT, uprightness
from tarsus.morphology.feet import find_feet
from tarsus.simulation.default_controller import STANDING_KEYFRAMES
from tarsus.simulation.recording.divergence import Fault, find_fault
from tarsus.simulation.recording.recorder import Interventions, Records, concatenate, record
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.time_steps import step_count
from tarsus.validation.fall_reasons import find_fall_reasons, moving_joints

Array = NDArray[np.float64]
BUILT_IN = "tarsus.robots"
STEPS = (0.0025, 0.001)  # s, step sizes that are tried in this order
SECONDS = 10.0
MAX_TILT, MAX_SINKING = 10.0, 0.1  # degrees, and fraction of the height, of a robot that stands
MAX_DRIFT = 0.2  # rad or m: servos as stiff as 6.4 times gravity sag by less
STANDS, HOLDS, FELL, GIVES_WAY = "stands", "holds", "fell", "gives way"
OWN = "own"


@dataclass(frozen=True)
class CheckedRobot:
    """Result of the check of one robot; figures that were not reached are None."""

    robot: str
    """Name of the robot."""
    file: str = ""
    """Name of its file; empty for a built-in robot."""
    dof: int | None = None
    """Number of degrees of freedom."""
    mass: float | None = None
    """Total mass, kg."""
    unsupported: tuple[str, ...] = ()
    """Elements of its file that are not simulated."""
    servos: str = ""
    """Servos used: "own" for those of the file, or "sized"."""
    dt: float | None = None
    """Step size, s."""
    outcome: str = ""
    """"stands", "holds" (with a fixed base), or what happened instead."""
    reason: str = ""
    """Reason why it does not stand or load, or outcome with the servos of its file."""
    trunk_drop: float | None = None
    """Largest drop of its trunk, m."""
    tilt: float | None = None
    """Largest tilt of its trunk, degrees."""
    unconverged: int | None = None
    """Number of steps whose solver did not converge."""
    seconds: float = 0.0
    """Wall time of all attempts, including compilation, s."""

    @property
    def passed(self) -> bool:
        """Whether the robot stands or holds its posture."""
        return self.outcome in (STANDS, HOLDS)

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


def select_robots(names: Sequence[str]) -> dict[str, str]:
    """Select the robots to check.

    Parameters
    ----------
    names
        Names of robots or files; all known robots if empty.

    Returns
    -------
    dict
        Built-in name or file of each robot, by name.

    Raises
    ------
    UnknownName
        If a name is neither a robot nor a file; the message suggests similar names.
    """
    known = {name: name for name in registry.names(BUILT_IN)}
    if robots_folder() is not None:
        known |= {name: str(find_file(name)) for name in LEGGED | ARMS}
    if not names:
        return known
    chosen: dict[str, str] = {}
    for name in names:
        if name not in known and not is_file(Path(name)) and find_file(name) is None:
            raise unknown_name_error("robot or file", name, known)
        chosen[name] = known.get(name, name)
    return chosen


def check_robots(
    chosen: dict[str, str],
    seconds: float = SECONDS,
    on_progress: Callable[[str], None] = print,
    options: Mapping[str, Any] | None = None,
) -> Iterator[CheckedRobot]:
    """Check robots one by one; yield each result as soon as it is known.

    Parameters
    ----------
    chosen
        Built-in name or file of each robot, by name.
    seconds
        Simulated duration, s.
    on_progress
        Function that is called with the robot that is being checked.
    options
        Options of `tarsus.load`.
    """
    for name, file in chosen.items():
        on_progress(f"{name} ...")
        began = perf_counter()
        row = _row(name, file, seconds, options or {})
        yield replace(row, seconds=perf_counter() - began)


def _row(name: str, file: str, seconds: float, options: Mapping[str, Any]) -> CheckedRobot:
    """Check one robot; exceptions become part of the result."""
    shown = "" if file == name else Path(file).name
    robot = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = load_with_feet(name, file, options)
            return _try_servos(name, shown, robot, seconds)
    except Exception as error:  # of any kind, so that the other robots are still checked
        known = isinstance(error, TarsusError)
        message = str(error) if known else f"{type(error).__name__}: {error}"
        message = message.removeprefix(f"{file}: ")
        if robot is None:
            return CheckedRobot(name, shown, outcome="not loaded", reason=message)
        return CheckedRobot(
            name, shown, robot.nu, robot.mass, robot.unsupported, outcome="no run", reason=message
        )


def _try_servos(name: str, file: str, robot: Robot, seconds: float) -> CheckedRobot:
    """Try servos and steps until the robot stands; return the first result if it never does."""
    tries: list[CheckedRobot] = []
    for file_servos in (True, False) if _has_standing_servos(robot) else (False,):
        for dt in STEPS:
            tries.append(_simulate_standing(name, file, robot, dt, seconds, file_servos))
            if not tries[-1].passed:
                continue
            if file_servos or tries[0].servos != OWN:
                return tries[-1]
            return replace(tries[-1], reason=f"with the servos of its file it {tries[0].outcome}")
    return tries[0]


def _has_standing_servos(robot: Robot) -> bool:
    """Return whether the file has a standing keyframe and servos that are all simulated."""
    known = {name.lower() for name in robot.signals}
    servos = any(a.has_kp for a in robot.file_actuators)
    return (
        bool(known & set(STANDING_KEYFRAMES))
        and servos
        and all(a.is_simulated for a in robot.file_actuators)
    )


def load_with_feet(name: str, file: str, options: Mapping[str, Any] | None = None) -> Robot:
    """Load a robot of `select_robots`: arms on a fixed base, and feet by visual shapes if need be.

    Parameters
    ----------
    name, file
        Name of the robot, and its built-in name or file.
    options
        Options of `tarsus.load`.
    """
    fixed = {"floating": False} if name in ARMS else {}
    return _with_feet(robots.load(file, **(fixed | dict(options or {}))), file)


def _with_feet(robot: Robot, file: str) -> Robot:
    """Replace missing collision shapes of feet by the visual shapes, if these exist."""
    if not robot.mobile or find_feet(robot) or not file.endswith((".urdf", ".sdf")):
        return robot
    try:
        visual = robots.load(file, shapes="visual")
    except TarsusError:
        return robot
    return visual if find_feet(visual) else robot


def _simulate_standing(
    name: str, file: str, robot: Robot, dt: float, seconds: float, file_servos: bool
) -> CheckedRobot:
    """Simulate a robot with a step of dt in s, controlled by its file's servos or by sized ones."""
    servos: Any = {"actuators": "file"} if file_servos else {"controller": "stand"}
    simulation = Simulation(robot, dt=dt, **servos)
    shown = f"{file}, visual shapes" if robot.origin.options.get("shapes") else file
    about = CheckedRobot(
        name, shown, robot.nu, robot.mass, robot.unsupported, OWN if file_servos else "sized", dt
    )
    # simulate until it falls
    start, mechanism = simulation.q, simulation.plan.scene.mechanism

    def find_end(chunk: Records, done: int) -> Fault | None:
        fault = find_fault(mechanism, chunk, done, 0.0, dt)
        down = _find_fallen(robot, chunk["q"][:, 0], start)
        return fault or (Fault(done + int(np.argmax(down)), FELL) if down.any() else None)

    chunks: list[Records] = []
    into = (chunks, lambda done: None)
    end = record(simulation.backend, step_count(seconds, dt), dt, find_end, Interventions(), into)
    if end.interrupted:
        raise KeyboardInterrupt
    # outcome
    records = concatenate(chunks)
    outcome, figures = _judge(robot, records, start)
    if outcome == STANDS and not find_feet(robot):
        outcome = "rests on its body"
    if end.fault is not None:
        word = "fell" if end.fault.message == FELL else "diverged"
        outcome = f"{word} at {end.fault.good_steps * dt:.1f} s"
    if outcome == GIVES_WAY:
        reason = moving_joints(robot, _list_moved_joints(robot, records["q"][:, 0], start))
    else:
        reason = (
            ""
            if outcome in (STANDS, HOLDS)
            else "; ".join(find_fall_reasons(simulation, file_servos))
        )
    return replace(about, outcome=outcome, reason=reason, **figures)


def _find_fallen(robot: Robot, q: Array, start: Array) -> NDArray[np.bool_]:
    """Find the states q (n, nq) in which the robot lies or has sunk to half its height."""
    if not robot.mobile:
        return np.zeros(len(q), dtype=bool)
    height, first = (base_position(robot, each)[..., 2] for each in (q, start))
    return (uprightness(robot, q) < MIN_UPRIGHT) | (height < MIN_HEIGHT_SHARE * first)


def _judge(robot: Robot, records: Records, start: Array) -> tuple[str, dict[str, Any]]:
    """Judge how a robot stood.

    Returns
    -------
    outcome
        One word.
    figures
        Unconverged steps, and largest drop in m and tilt in degrees of the trunk.
    """
    q = records["q"][:, 0]
    figures: dict[str, Any] = {"unconverged": int((records["converged"] == 0).sum())}
    if not robot.mobile:
        return GIVES_WAY if _list_moved_joints(robot, q, start) else HOLDS, figures
    height, first = (base_position(robot, each)[..., 2] for each in (q, start))
    figures["trunk_drop"] = float(max(first - height.min(), 0.0))
    figures["tilt"] = float(np.rad2deg(np.arccos(np.clip(uprightness(robot, q), -1, 1)).max()))
    if figures["tilt"] > MAX_TILT:
        return "leans", figures
    return "sags" if figures["trunk_drop"] > MAX_SINKING * first else STANDS, figures


def _list_moved_joints(robot: Robot, q: Array, start: Array) -> list[str]:
    """List the robot's joints that drift in q (n, nq) from their initial coordinates (nq,)."""
    drift, objects = np.abs(q - start).max(0), tree.object_bodies(robot)
    return [
        body.joint.name
        for i, (body, indices) in enumerate(zip(robot.bodies, robot.q_slices, strict=True))
        if i not in objects and (drift[indices] >= MAX_DRIFT).any()
    ]
