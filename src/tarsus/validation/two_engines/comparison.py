"""Comparison of a robot's file in Tarsus and in MuJoCo.

The scenes are free flight, a drop without torques, standing, and a fall to the side. A robot with a
fixed base swings freely and, if it has motors, holds its posture without ground.

Both engines start from the same state and apply the same torques, which are constant over a step of
Tarsus: zero, or those of servos tuned for the robot. MuJoCo takes `PARTS` steps per step of Tarsus,
with contacts and joint limits as hard as these allow. A second run of MuJoCo that is twice as soft
shows how much of a difference is due to MuJoCo's softness or to the sensitivity of the motion.
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
from tarsus.model.base_motion import raise_base
from tarsus.morphology.self_contacts import self_contacts
from tarsus.mujoco_runs.settings import NAMED, SHOWN, describe_sets, row_label
from tarsus.simulation.default_controller import STAND, prepare
from tarsus.spatial.quaternion import numeric_product
from tarsus.validation.two_engines import mujoco_run, tarsus_run
from tarsus.validation.two_engines.robot_run import Array, RobotRun, Torques, pose_distance
from tarsus.validation.two_engines.run_difference import DT, ComparisonRow, RunDifference
from tarsus.validation.two_engines.tarsus_run import MU

PARTS = 5  # steps of MuJoCo per step of Tarsus
SOFTER = 2.0
ROBOTS = ("go2", "anymal_c", "g1")  # of example-robot-data, checked by default
FLIGHT, RATES = 0.2, 1.0  # s; initial joint velocities, rad/s
FLIGHT_PARTS = (20, 200)  # steps of MuJoCo per step of Tarsus; the second if the first is unstable
STABLE_CHANGE = 0.01  # rad: halving the step changes a stable flight by less
FLIGHT_HEIGHT = 10.0  # m
DROP, ROLL, CLEARANCE = 0.2, 1.0, 0.05  # m; rad; m above the ground
FLIES, DROPS, STANDS, FALLS = "flight", "drop", "stand", "fall"
HARD = "hard"  # MuJoCo's settings that are as hard as its step allows
SWINGS, HOLDS = "swing", "hold"  # of a fixed base
SETTINGS = (
    f"Tarsus: moreau, midpoint, dt {1e3 * DT:g} ms. MuJoCo hard: steps of {1e3 * DT / PARTS:g} ms,"
    f" {mujoco_run.hardest_settings(DT / PARTS).description()}, time constants twice as long where"
    f" it is compared with itself. The others: steps of {1e3 * DT:g} ms. Friction {MU:g}."
    f" Flight and swing against MuJoCo's RK4 at {1e3 * DT / FLIGHT_PARTS[0]:g} ms,"
    f" {1e3 * DT / FLIGHT_PARTS[1]:g} ms where that is unstable"
)
SECONDS = {FLIES: FLIGHT, DROPS: 1.0, STANDS: 3.0, FALLS: 3.0, SWINGS: FLIGHT, HOLDS: 3.0}


def compare_robots(
    chosen: dict[str, str], on_progress: Callable[[str], None] = print
) -> Iterator[ComparisonRow]:
    """Compare robots in both engines, scene by scene; an error becomes a row of the table.

    Parameters
    ----------
    chosen
        File of each robot, by name.
    on_progress
        Function that is called with the current robot and scene.
    """
    for name, file in chosen.items():
        on_progress(f"{name}: loading ...")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pair = EnginePair.of(name, file)
        except TarsusError as error:
            yield ComparisonRow(name, "", reason=str(error).removeprefix(f"{file}: "))
            continue
        for scene in pair.scenes:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    scene_rows = pair.rows(scene, on_progress)
            except TarsusError as error:
                reason = str(error).removeprefix(f"{file}: ")
                scene_rows = [ComparisonRow(pair.name, scene, reason=reason)]
            yield from scene_rows


@dataclass(frozen=True, eq=False)
class EnginePair:
    """One robot in both engines."""

    name: str
    """Name of the robot."""
    robot: Robot
    """Robot as Tarsus simulates it."""
    file: str
    """File of the robot."""
    q: Array
    """Coordinates (nq,) of the standing posture."""
    servos: Torques
    """Torques that hold the standing posture."""

    @staticmethod
    def of(name: str, file: str) -> EnginePair:
        """Load a robot in its standing posture."""
        robot, gait = prepare(robots.load(file), STAND, DT, [])
        robot = without_overlaps(robot)
        # a fixed base may intersect the ground, or the file may have its own plane elsewhere
        robot = with_same_ground(robot, file) if robot.mobile else replace(robot, candidates=())
        servos = servo_torques(robot, np.array(gait.initial_coordinates(robot)), gait)
        shown = robot.name if name == file else name
        return EnginePair(
            shown, robot, file, tarsus_run.create_simulation(robot, servos, DT).q, servos
        )

    @property
    def scenes(self) -> tuple[str, ...]:
        """Scenes for this robot, by `SECONDS`."""
        if self.robot.mobile:
            return (FLIES, DROPS, STANDS, FALLS)[: 4 if self.robot.floating else 3]
        return (SWINGS, HOLDS) if self.robot.actuators else (SWINGS,)

    def rows(
        self, scene: str, on_progress: Callable[[str], None] = lambda text: None
    ) -> list[ComparisonRow]:
        """Compare one scene with MuJoCo at its hardest and at its named settings.

        Parameters
        ----------
        scene
            Name of the scene.
        on_progress
            Function that is called with the current engine.
        """
        on_progress(f"{self.name}: {scene} in Tarsus ...")
        if scene in (FLIES, SWINGS):
            return [self._flight(scene, on_progress)]
        start, torques = self._start(scene)
        steps = round(SECONDS[scene] / DT)
        reference = tarsus_run.run_in_tarsus(self.robot, start, torques, (DT, steps, 1))
        on_progress(f"{self.name}: {scene} in MuJoCo ...")
        stiff = self._hard_run(start, torques, steps, 1.0)
        on_progress(f"{self.name}: {scene} in MuJoCo, twice as soft ...")
        soft = self._hard_run(start, torques, steps, SOFTER)
        scene_rows = [self._row(scene, HARD, reference, stiff)]
        scene_rows[0] = replace(scene_rows[0], soft=RunDifference.of(self.robot, stiff, soft))
        for name in reversed(SHOWN):
            on_progress(f"{self.name}: {scene} in MuJoCo, {name} ...")
            model = self._model()
            mujoco_run.apply_settings(model, DT, NAMED[name])
            run = mujoco_run.run_in_mujoco(model, self.robot, start, torques, (DT, steps, 1))
            scene_rows.append(self._row(scene, name, reference, run))
        return scene_rows

    def _row(self, scene: str, settings: str, reference: RobotRun, run: RobotRun) -> ComparisonRow:
        """Compare a run of Tarsus, the reference, with one of MuJoCo."""
        return ComparisonRow(
            self.name,
            scene,
            settings,
            SECONDS[scene],
            RunDifference.of(self.robot, reference, run),
            None,
            tuple(reference.unmatched_events(run)),
            tuple(run.unmatched_events(reference)),
            unsolved=reference.unsolved,
        )

    def _model(self) -> Any:
        """Compile MuJoCo's model of the robot."""
        model = mujoco_run.compile_model(self.robot, self.file, DT)
        if not self.robot.mobile:
            mujoco_run.remove_fixed_contacts(model)
        return model

    def _hard_run(
        self, start: tuple[Array, Array], torques: Torques, steps: int, soft: float
    ) -> RobotRun:
        model = self._model()
        mujoco_run.apply_hardest_settings(model, DT / PARTS, soft)
        return mujoco_run.run_in_mujoco(model, self.robot, start, torques, (DT, steps, PARTS))

    def _start(self, scene: str) -> tuple[tuple[Array, Array], Torques]:
        """Compute the initial coordinates and velocities of a scene, and its torques."""
        q, u = self.q.copy(), np.zeros(self.robot.nu)
        if scene in (STANDS, HOLDS):
            return (q, u), self.servos
        if scene == DROPS:
            raise_base(self.robot, q, DROP)
            return (q, u), zero_torques(self.robot)
        # rolled to its side, slightly above the ground
        roll = np.array([np.cos(ROLL / 2), np.sin(ROLL / 2), 0.0, 0.0])
        q[3:7] = numeric_product(roll, q[3:7])
        kin = kinematics(self.robot, SX(q))
        lowest = min(lowest_point(kin, candidate)[2] for candidate in self.robot.candidates)
        q[2] += CLEARANCE - lowest
        return (q, u), self.servos

    def _flight(self, scene: str, on_progress: Callable[[str], None]) -> ComparisonRow:
        """Compare a free flight with moving joints to MuJoCo's fourth-order integrator."""
        q, rng = self.q.copy(), np.random.default_rng(0)
        if self.robot.mobile:
            raise_base(self.robot, q, FLIGHT_HEIGHT)
        start = tarsus_run.consistent_state(
            self.robot, q, RATES * rng.uniform(-1, 1, self.robot.nu)
        )
        steps = round(FLIGHT / DT)
        ends = [tarsus_run.free_flight(self.robot, start, DT / n, steps * n) for n in (1, 2)]
        on_progress(f"{self.name}: {scene} in MuJoCo ...")
        exact = self._exact(start)
        whole, half = (pose_distance(self.robot, exact, end) for end in ends)
        order = float(np.log2(whole.angle / half.angle)) if half.angle else None
        difference = RunDifference(FLIGHT, position=whole.position, angle=whole.angle)
        return ComparisonRow(self.name, scene, "", FLIGHT, difference, order=order)

    def _exact(self, start: tuple[Array, Array]) -> Array:
        """Compute MuJoCo's coordinates (nq,) after the flight, with steps that are stable.

        Stiff damping on light bodies requires short steps.

        Raises
        ------
        UnmetCondition
            If no step size is stable.
        """
        model = mujoco_run.compile_model(self.robot, self.file, DT)
        steps, reason = round(FLIGHT / DT), ""
        for parts in FLIGHT_PARTS:
            try:
                end, finer = (
                    mujoco_run.free_flight(model, start, DT / n, steps * n)
                    for n in (parts, 2 * parts)
                )
            except TarsusError as error:
                reason = str(error)
                continue
            if pose_distance(self.robot, end, finer).angle < STABLE_CHANGE:
                return end
            reason = f"MuJoCo is unstable with steps of {1e3 * DT / parts:g} ms (RK4)"
        raise UnmetCondition(reason, "MuJoCo")


def settings_text() -> str:
    """Describe the settings of both engines, for the lines below a table."""
    settings = {row_label(name): replace(NAMED[name], mu=MU) for name in reversed(SHOWN)}
    return "\n".join([SETTINGS, *describe_sets(settings)])


def with_same_ground(robot: Robot, file: str) -> Robot:
    """Remove the contact candidates of bodies that do not touch the ground in MuJoCo."""
    allowed = mujoco_run.bodies_on_ground(mujoco_run.compile_model(robot, file, DT))
    names = robot.body_names
    return replace(robot, candidates=tuple(c for c in robot.candidates if names[c.body] in allowed))


def without_overlaps(robot: Robot) -> Robot:
    """Exclude pairs of bodies that overlap initially or in most postures.

    Each engine would push them apart differently.
    """
    names, always = robot.body_names, self_contacts(robot, True).always
    overlaps = [(names[p.first.body], names[p.second.body]) for p in always]
    if not overlaps:
        return robot
    return replace(robot, excluded=(*robot.excluded, *dict.fromkeys(overlaps)))


def servo_torques(robot: Robot, q: Array, gait: Any) -> Torques:
    """Create servos with the gains of a gait `stand`, limited to the motors' torques."""
    joints = [robot.joint_index(motor.joint) for motor in robot.actuators]
    q_indices = [robot.q_slices[k].start for k in joints]
    u_indices = [robot.u_slices[k].start for k in joints]
    low, high = (np.array([getattr(a, end) for a in robot.actuators]) for end in ("lower", "upper"))
    kp, kd, target = np.array(gait.kp), np.array(gait.kd), q[q_indices]

    def torques(t: float, q: Array, u: Array) -> Array:
        return np.clip(kp * (target - q[q_indices]) - kd * u[u_indices], low, high)

    return torques


def zero_torques(robot: Robot) -> Torques:
    """Create a torque function that always returns zeros."""
    zeros = np.zeros(len(robot.actuators))
    return lambda t, q, u: zeros
