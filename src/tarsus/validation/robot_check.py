"""Whether robots stand: each is loaded from its file and held by servos for ten seconds.

A robot with position servos of its own that a keyframe stands with gets those; any other, and one
that does not stand by its own, gets the gait `stand`, its servos sized for its weight and for the
step. It is tried with a step of 2.5 ms and, where it does not stand, of 1 ms. What goes wrong with
one robot is a row of the table.
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
from tarsus.errors import TarsusError, unknown_name
from tarsus.files import is_file
from tarsus.model.robot_data import ARMS, LEGGED, file_of, robots_folder
from tarsus.morphology.fall import MIN_HEIGHT_SHARE, MIN_UPRIGHT, upright
from tarsus.morphology.feet import feet
from tarsus.simulation.default_controller import STANDING_KEYFRAMES
from tarsus.simulation.recording.divergence import Fault, find_fault
from tarsus.simulation.recording.recorder import Interventions, Records, concatenate, record
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.time_steps import step_count
from tarsus.validation.fall_reasons import moving, reasons

Array = NDArray[np.float64]
BUILT_IN = "tarsus.robots"
STEPS = (0.0025, 0.001)  # s: the steps tried, one after the other
SECONDS = 10.0
TILTS, SINKS = 10.0, 0.1  # deg; part of the height: a robot that stands does less
DRIFTS = 0.2  # rad or m: servos as stiff as 6.4 times gravity sag by less
STANDS, HOLDS, FELL, GIVES_WAY = "stands", "holds", "fell", "gives way"
OWN = "own"


@dataclass(frozen=True)
class CheckedRobot:
    """What became of one robot; figures of what it did not get to are None.

    left_out: how many parts of its file are not simulated
    servos: "own", the file's, or "sized"
    dt: s
    outcome: "stands", "holds" (on a stand), or what happened instead
    why: why it does not stand, or did not load; what came of its own servos, where sized ones do it
    sinks: m, the most that its trunk was lower than at the start
    tilt: deg, the largest of its trunk
    unconverged: steps
    seconds: of the clock, all tries together, compiling included
    """

    robot: str
    file: str = ""
    dof: int | None = None
    mass: float | None = None
    left_out: tuple[str, ...] = ()
    servos: str = ""
    dt: float | None = None
    outcome: str = ""
    why: str = ""
    sinks: float | None = None
    tilt: float | None = None
    unconverged: int | None = None
    seconds: float = 0.0

    @property
    def well(self) -> bool:
        """Whether it stands or holds its posture."""
        return self.outcome in (STANDS, HOLDS)

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)


def named(names: Sequence[str]) -> dict[str, str]:
    """Robots to check, name -> built-in name or file; without names all that there are.

    TarsusError with near names for one that is neither known nor a file.
    """
    known = {name: name for name in registry.names(BUILT_IN)}
    if robots_folder() is not None:
        known |= {name: str(file_of(name)) for name in LEGGED | ARMS}
    if not names:
        return known
    chosen: dict[str, str] = {}
    for name in names:
        if name not in known and not is_file(Path(name)) and file_of(name) is None:
            raise unknown_name("robot or file", name, known)
        chosen[name] = known.get(name, name)
    return chosen


def checked(
    chosen: dict[str, str],
    seconds: float = SECONDS,
    tell: Callable[[str], None] = print,
    options: Mapping[str, Any] | None = None,
) -> Iterator[CheckedRobot]:
    """A row for each robot, as soon as it is known; options: of `tarsus.load`."""
    for name, file in chosen.items():
        tell(f"{name} ...")
        began = perf_counter()
        row = _row(name, file, seconds, options or {})
        yield replace(row, seconds=perf_counter() - began)


def _row(name: str, file: str, seconds: float, options: Mapping[str, Any]) -> CheckedRobot:
    """One robot; nothing that goes wrong with it is an end of the run."""
    shown = "" if file == name else Path(file).name
    robot = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fixed = {"floating": False} if name in ARMS else {}
            robot = _with_feet(robots.load(file, **(fixed | dict(options))), file)
            return _best(name, shown, robot, seconds)
    except Exception as error:  # of any kind: the others have their turn
        told = str(error) if isinstance(error, TarsusError) else f"{type(error).__name__}: {error}"
        told = told.removeprefix(f"{file}: ")
        if robot is None:
            return CheckedRobot(name, shown, outcome="not loaded", why=told)
        return CheckedRobot(
            name, shown, robot.nu, robot.mass, robot.left_out, outcome="no run", why=told
        )


def _best(name: str, file: str, robot: Robot, seconds: float) -> CheckedRobot:
    """The row of the first servos and step that it stands with; if there are none, of the first."""
    tries: list[CheckedRobot] = []
    for own in (True, False) if _by_own_servos(robot) else (False,):
        for dt in STEPS:
            tries.append(_stood(name, file, robot, dt, seconds, own))
            if not tries[-1].well:
                continue
            if own or tries[0].servos != OWN:
                return tries[-1]
            return replace(tries[-1], why=f"by its own servos it {tries[0].outcome}")
    return tries[0]


def _by_own_servos(robot: Robot) -> bool:
    """Whether a file's own servos hold a keyframe in which it stands, and all of them can act."""
    known = {name.lower() for name in robot.signals}
    servos = any(a.has_kp for a in robot.file_actuators)
    return (
        bool(known & set(STANDING_KEYFRAMES))
        and servos
        and all(a.simulated for a in robot.file_actuators)
    )


def _with_feet(robot: Robot, file: str) -> Robot:
    """The robot; where its file gives it no shape to stand on, with those of its pictures, if these
    are there.
    """
    if not robot.floating or feet(robot) or not file.endswith((".urdf", ".sdf")):
        return robot
    try:
        drawn = robots.load(file, shapes="visual")
    except TarsusError:
        return robot
    return drawn if feet(drawn) else robot


def _stood(
    name: str, file: str, robot: Robot, dt: float, seconds: float, own: bool
) -> CheckedRobot:
    """The row of a robot with a step of dt, s, held by its own servos or by sized ones."""
    given: Any = {"actuators": "file"} if own else {"controller": "stand"}
    simulation = Simulation(robot, dt=dt, **given)
    shown = f"{file}, visual shapes" if robot.origin.options.get("shapes") else file
    about = CheckedRobot(
        name, shown, robot.nu, robot.mass, robot.left_out, OWN if own else "sized", dt
    )
    # up to a fall
    start, mechanism = simulation.q, simulation.plan.scene.mechanism

    def ended(part: Records, done: int) -> Fault | None:
        fault = find_fault(mechanism, part, done, 0.0, dt)
        down = _fallen(robot, part["q"][:, 0], start)
        return fault or (Fault(done + int(np.argmax(down)), FELL) if down.any() else None)

    chunks: list[Records] = []
    into = (chunks, lambda done: None)
    kept = record(simulation.backend, step_count(seconds, dt), dt, ended, Interventions(), into)
    if kept.interrupted:
        raise KeyboardInterrupt
    # how it went
    records = concatenate(chunks)
    outcome, figures = _judged(robot, records, start)
    if outcome == STANDS and not feet(robot):
        outcome = "rests on its body"
    if kept.fault is not None:
        word = "fell" if kept.fault.message == FELL else "diverged"
        outcome = f"{word} at {kept.fault.good_steps * dt:.1f} s"
    if outcome == GIVES_WAY:
        why = moving(robot, _given_way(robot, records["q"][:, 0], start))
    else:
        why = "" if outcome in (STANDS, HOLDS) else "; ".join(reasons(simulation, own))
    return replace(about, outcome=outcome, why=why, **figures)


def _fallen(robot: Robot, q: Array, start: Array) -> NDArray[np.bool_]:
    """Where q (n, nq) shows a robot on its side, or sunk to half its height above the ground."""
    if not robot.floating:
        return np.zeros(len(q), dtype=bool)
    return (upright(robot, q) < MIN_UPRIGHT) | (q[:, 2] < MIN_HEIGHT_SHARE * start[2])


def _judged(robot: Robot, records: Records, start: Array) -> tuple[str, dict[str, Any]]:
    """One word for how a robot stood, and figures: the unconverged steps, how far the trunk sank,
    m, and tilted, deg.
    """
    q = records["q"][:, 0]
    figures: dict[str, Any] = {"unconverged": int((records["converged"] == 0).sum())}
    if not robot.floating:
        return GIVES_WAY if _given_way(robot, q, start) else HOLDS, figures
    figures["sinks"] = float(max(start[2] - q[:, 2].min(), 0.0))
    figures["tilt"] = float(np.rad2deg(np.arccos(np.clip(upright(robot, q), -1, 1)).max()))
    if figures["tilt"] > TILTS:
        return "leans", figures
    return "sags" if figures["sinks"] > SINKS * start[2] else STANDS, figures


def _given_way(robot: Robot, q: Array, start: Array) -> list[str]:
    """The joints that leave their start (nq,) in coordinates q (n, nq), but those of objects beside
    the robot.
    """
    moved, beside = np.abs(q - start).max(0), tree.object_bodies(robot)
    return [
        body.joint.name
        for i, (body, at) in enumerate(zip(robot.bodies, robot.q_slices, strict=True))
        if i not in beside and (moved[at] >= DRIFTS).any()
    ]
