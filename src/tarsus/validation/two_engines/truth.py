"""A robot's file in Tarsus and in MuJoCo: free flight, a limp drop, a stand and a fall; of a robot
whose base is fixed a free swing, and if it has motors how it holds its posture, the ground away.

Both start alike and are given the same torques, held for a step of ours: none, or those of servos
sized for the robot. MuJoCo takes `PARTS` steps in each of ours, its contacts and stops as hard as
these allow. How much of a difference is MuJoCo's softness, or the motion's own sensitivity, is told
by a second run of MuJoCo's, twice as soft.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from casadi import SX

from tarsus import robots
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.support_points import lowest_point
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.morphology.self_contacts import self_contacts
from tarsus.mujoco_runs.settings import NAMED, SHOWN, footnotes, label
from tarsus.simulation.default_controller import STAND, prepare
from tarsus.spatial.quaternion import numeric_product
from tarsus.validation.two_engines import ours, theirs
from tarsus.validation.two_engines.course import Array, RobotRun, Torques, apart
from tarsus.validation.two_engines.ours import MU
from tarsus.validation.two_engines.outcome import DT, Beheld, TruthRow

PARTS = 5  # of MuJoCo's steps in one of ours
SOFTER = 2.0
ROBOTS = ("go2", "anymal_c", "g1")  # of example-robot-data, if none are named
FLIGHT, RATES = 0.2, 1.0  # s; rad/s at the start
FLIGHT_PARTS = (20, 200)  # of MuJoCo's steps in one of ours; those for what is unstable so
STEADY = 0.01  # rad: steps half as long change a stable flight by less
HIGH = 10.0  # m: nothing touches in flight
DROP, TIPPED, CLEAR = 0.2, 1.0, 0.05  # m; rad of roll; m above the ground
FLIES, DROPS, STANDS, FALLS = "flight", "drop", "stand", "fall"
HARD = "hard"  # MuJoCo's settings: as hard as its steps allow
SWINGS, HOLDS = "swing", "hold"  # of a fixed base
SETTINGS = (
    f"Tarsus: moreau, midpoint, dt {1e3 * DT:g} ms. MuJoCo hard: steps of {1e3 * DT / PARTS:g} ms,"
    f" {theirs.hardest(DT / PARTS).description()}, time constants twice as long where it is"
    f" compared with itself. The others: steps of {1e3 * DT:g} ms. Friction {MU:g}."
    f" Flight and swing against MuJoCo's RK4 at {1e3 * DT / FLIGHT_PARTS[0]:g} ms,"
    f" {1e3 * DT / FLIGHT_PARTS[1]:g} ms where that is unstable"
)
SECONDS = {FLIES: FLIGHT, DROPS: 1.0, STANDS: 3.0, FALLS: 3.0, SWINGS: FLIGHT, HOLDS: 3.0}


def rows(chosen: dict[str, str], tell: Callable[[str], None] = print) -> Iterator[TruthRow]:
    """The rows of robots, name -> file, scene by scene; what goes wrong in one is its row."""
    for name, file in chosen.items():
        tell(f"{name}: loading ...")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                beside = Beside.of(name, file)
        except TarsusError as error:
            yield TruthRow(name, "", why=str(error).removeprefix(f"{file}: "))
            continue
        for scene in beside.scenes:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = beside.rows(scene, tell)
            except TarsusError as error:
                found = [TruthRow(beside.name, scene, why=str(error).removeprefix(f"{file}: "))]
            yield from found


@dataclass(frozen=True, eq=False)
class Beside:
    """One robot in both engines, and the torques that hold it where it stands.

    q (nq,): where it stands
    """

    name: str
    robot: Robot
    file: str
    q: Array
    servos: Torques

    @staticmethod
    def of(name: str, file: str) -> Beside:
        """A robot by name and file, on its feet."""
        robot, gait = prepare(robots.load(file), STAND, DT, [])
        robot = without_overlaps(robot)
        # a fixed base may stand in the ground, which a file's own plane may put elsewhere
        robot = grounded_alike(robot, file) if robot.floating else replace(robot, candidates=())
        servos = held(robot, np.array(gait.initial_coordinates(robot)), gait)
        shown = robot.name if name == file else name
        return Beside(shown, robot, file, ours.simulated(robot, servos, DT).q, servos)

    @property
    def scenes(self) -> tuple[str, ...]:
        """Those of `SECONDS` that it takes part in."""
        if self.robot.floating:
            return FLIES, DROPS, STANDS, FALLS
        return (SWINGS, HOLDS) if self.robot.actuators else (SWINGS,)

    def rows(self, scene: str, tell: Callable[[str], None] = lambda told: None) -> list[TruthRow]:
        """In one of its scenes, next to MuJoCo as hard as can be, and at its named settings.

        tell: called with the engine at work
        """
        tell(f"{self.name}: {scene} in Tarsus ...")
        if scene in (FLIES, SWINGS):
            return [self._flight(scene, tell)]
        start, torques = self._start(scene)
        steps = round(SECONDS[scene] / DT)
        own = ours.in_tarsus(self.robot, start, torques, (DT, steps, 1))
        tell(f"{self.name}: {scene} in MuJoCo ...")
        stiff = self._theirs(start, torques, steps, 1.0)
        tell(f"{self.name}: {scene} in MuJoCo, twice as soft ...")
        soft = self._theirs(start, torques, steps, SOFTER)
        found = [self._row(scene, HARD, own, stiff)]
        found[0] = replace(found[0], soft=Beheld.of(self.robot, stiff, soft))
        for name in reversed(SHOWN):
            tell(f"{self.name}: {scene} in MuJoCo, {name} ...")
            model = self._model()
            theirs.at_settings(model, DT, NAMED[name])
            run = theirs.in_mujoco(model, self.robot, start, torques, (DT, steps, 1))
            found.append(self._row(scene, name, own, run))
        return found

    def _row(self, scene: str, settings: str, own: RobotRun, run: RobotRun) -> TruthRow:
        """Our run beside MuJoCo's at some settings."""
        return TruthRow(
            self.name,
            scene,
            settings,
            SECONDS[scene],
            Beheld.of(self.robot, own, run),
            None,
            tuple(own.alone(run)),
            tuple(run.alone(own)),
            unsolved=own.unsolved,
        )

    def _model(self) -> Any:
        """MuJoCo's model of it."""
        model = theirs.model_of(self.robot, self.file, DT)
        if not self.robot.floating:
            theirs.untouched(model)
        return model

    def _theirs(
        self, start: tuple[Array, Array], torques: Torques, steps: int, soft: float
    ) -> RobotRun:
        model = self._model()
        theirs.hard(model, DT / PARTS, soft)
        return theirs.in_mujoco(model, self.robot, start, torques, (DT, steps, PARTS))

    def _start(self, scene: str) -> tuple[tuple[Array, Array], Torques]:
        """q and u at the start of a scene, and its torques."""
        q, u = self.q.copy(), np.zeros(self.robot.nu)
        if scene in (STANDS, HOLDS):
            return (q, u), self.servos
        if scene == DROPS:
            q[2] += DROP
            return (q, u), limp(self.robot)
        # tipped to its side, a little above the ground
        roll = np.array([np.cos(TIPPED / 2), np.sin(TIPPED / 2), 0.0, 0.0])
        q[3:7] = numeric_product(roll, q[3:7])
        kin = kinematics(self.robot, SX(q))
        q[2] += CLEAR - min(lowest_point(kin, candidate)[2] for candidate in self.robot.candidates)
        return (q, u), self.servos

    def _flight(self, scene: str, tell: Callable[[str], None]) -> TruthRow:
        """In the air, joints turning: the difference from MuJoCo's steps of fourth order."""
        q, rng = self.q.copy(), np.random.default_rng(0)
        if self.robot.floating:
            q[2] += HIGH
        start = ours.consistent(self.robot, q, RATES * rng.uniform(-1, 1, self.robot.nu))
        steps = round(FLIGHT / DT)
        ends = [ours.in_flight(self.robot, start, DT / n, steps * n) for n in (1, 2)]
        tell(f"{self.name}: {scene} in MuJoCo ...")
        exact = self._exact(start)
        whole, half = (apart(self.robot, exact, end) for end in ends)
        order = float(np.log2(whole.angle / half.angle)) if half.angle else None
        found = Beheld(FLIGHT, place=whole.place, angle=whole.angle)
        return TruthRow(self.name, scene, "", FLIGHT, found, order=order)

    def _exact(self, start: tuple[Array, Array]) -> Array:
        """MuJoCo's coordinates (nq,) after the flight, its steps short enough to be stable, as
        those of stiff damping on light bodies must be; TarsusError if none are.
        """
        model = theirs.model_of(self.robot, self.file, DT)
        steps, why = round(FLIGHT / DT), ""
        for parts in FLIGHT_PARTS:
            try:
                found, finer = (
                    theirs.in_flight(model, start, DT / n, steps * n) for n in (parts, 2 * parts)
                )
            except TarsusError as error:
                why = str(error)
                continue
            if apart(self.robot, found, finer).angle < STEADY:
                return found
            why = f"MuJoCo is unstable with steps of {1e3 * DT / parts:g} ms (RK4)"
        raise UnmetCondition(why, "MuJoCo")


def stated() -> str:
    """Return the settings of both engines, for the end of a table."""
    given = {label(name): replace(NAMED[name], mu=MU) for name in reversed(SHOWN)}
    return "\n".join([SETTINGS, *footnotes(given)])


def grounded_alike(robot: Robot, file: str) -> Robot:
    """The robot, of which no body touches the ground that its file keeps from it in MuJoCo."""
    allowed = theirs.grounded(theirs.model_of(robot, file, DT))
    names = robot.body_names
    return replace(robot, candidates=tuple(c for c in robot.candidates if names[c.body] in allowed))


def without_overlaps(robot: Robot) -> Robot:
    """The robot, of which bodies never meet whose shapes are in each other as it starts or in most
    postures: pushing them apart would be another motion in either engine.
    """
    names = robot.body_names
    found = [(names[p.first.body], names[p.second.body]) for p in self_contacts(robot, True).always]
    return replace(robot, excluded=(*robot.excluded, *dict.fromkeys(found))) if found else robot


def held(robot: Robot, q: Array, gait: Any) -> Torques:
    """Torques of servos with the gains of a gait `stand`, within the motors' limits."""
    names = [robot.joint_index(motor.joint) for motor in robot.actuators]
    at_q = [robot.q_slices[k].start for k in names]
    at_u = [robot.u_slices[k].start for k in names]
    low, high = (np.array([getattr(a, end) for a in robot.actuators]) for end in ("lower", "upper"))
    kp, kd, target = np.array(gait.kp), np.array(gait.kd), q[at_q]

    def torques(t: float, q: Array, u: Array) -> Array:
        return np.clip(kp * (target - q[at_q]) - kd * u[at_u], low, high)

    return torques


def limp(robot: Robot) -> Torques:
    """No torques."""
    none = np.zeros(len(robot.actuators))
    return lambda t, q, u: none
