"""Bind a contract to a robot: resolve joint names and check sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.control import servo
from tarsus.dynamics.robot import Robot
from tarsus.errors import (
    IncompatibleOptions,
    InvalidFile,
    UnmetCondition,
    Unsupported,
    unknown_name_error,
)
from tarsus.model.file_actuators import FREE
from tarsus.morphology.feet import find_feet, find_soles
from tarsus.policies.contract import Contract, Term, numbers
from tarsus.policies.network import PolicyNetwork, load_network
from tarsus.policies.servos import Servo
from tarsus.policies.terms import TERMS, ObservedState
from tarsus.simulation.time_steps import DEFAULT_DT

Array = NDArray[np.float64]
KEYFRAMES = ("stand", "home", "qpos0")  # initial posture, by priority
ROUNDING = 1e-9  # relative error of the number of steps in a control period


@dataclass(frozen=True, eq=False)
class BoundPolicy:
    """Policy bound to a robot.

    Parameters
    ----------
    contract : Contract
        Complete contract.
    robot : Robot
        Robot that the policy controls.
    network : PolicyNetwork
        Network of the policy.
    actuators : ndarray
        Index of the robot's actuator of each joint of the policy, shape (joints,).
    """

    contract: Contract
    robot: Robot
    network: PolicyNetwork
    actuators: NDArray[np.int64]

    @staticmethod
    def of(contract: Contract, robot: Robot) -> BoundPolicy:
        """Bind a contract to a robot.

        Raises
        ------
        UnmetCondition
            If the contract lacks a value.
        UnknownName
            If the robot lacks a joint of the policy; the message suggests similar names.
        IncompatibleOptions
            If the robot has no floating base.
        InvalidFile
            If sizes do not fit: the contract's lists, or its terms and the network.
        """
        if not robot.floating:
            raise IncompatibleOptions(
                f"{robot.name!r} has a fixed base; policies need a floating base.",
                robot.name,
            )
        contract = fill_gains(contract, robot)
        if missing := contract.missing():
            asked = "; ".join(_describe(question) for question in missing)
            raise UnmetCondition(
                f"the contract of this policy lacks {asked}. Give it with --set"
                f" {missing[0].name}=..., or in a policy.toml (tarsus policy inspect --write).",
                missing[0].name,
            )
        network = load_network(contract.network, contract.states, (contract.input, contract.output))
        bound = BoundPolicy(contract, robot, network, actuator_indices(contract, robot))
        bound.check_sizes()
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the contract and the robot, from which workers bind the policy again."""
        return BoundPolicy.of, (self.contract, self.robot)

    @property
    def default_dt(self) -> float:
        """Longest step size of which the control period is a multiple, at most 2.5 ms; in s."""
        assert self.contract.rate is not None
        period = 1 / self.contract.rate
        return period / ceil(period / DEFAULT_DT * (1 - ROUNDING))

    @property
    def count(self) -> int:
        """Number of joints that the policy moves."""
        return len(self.actuators)

    def per_joint(self, name: str, default: float = 0.0) -> Array:
        """Return a field as one number for each joint (joints,)."""
        value = getattr(self.contract, name)
        if value is None:
            return np.full(self.count, default)
        if isinstance(value, str):
            assert name == "offset"
            return self.per_joint("positions")
        return np.broadcast_to(np.asarray(value, float), (self.count,)).copy()

    @cached_property
    def motor_indices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices in q and in u of the joints of all motors, shape (motors,) each."""
        joints = [self.robot.joint_index(motor.joint) for motor in self.robot.actuators]
        starts = [(self.robot.q_slices[i].start, self.robot.u_slices[i].start) for i in joints]
        q, u = np.array(starts, np.int64).reshape(-1, 2).T
        return q, u

    @property
    def q_indices(self) -> NDArray[np.int64]:
        """Indices in q of the policy's joints, shape (joints,)."""
        return self.motor_indices[0][self.actuators]

    @property
    def u_indices(self) -> NDArray[np.int64]:
        """Indices in u of the policy's joints, shape (joints,)."""
        return self.motor_indices[1][self.actuators]

    @cached_property
    def servos(self) -> tuple[Servo, ...]:
        """Servo of each motor; those without a policy joint hold their initial position."""
        kp, kd = self.per_joint("kp"), self.per_joint("kd")
        control = {a.joint: a.control for a in self.robot.file_actuators if a.kind == "position"}
        servos = {}
        for k, index in enumerate(self.actuators.tolist()):
            joint = self.robot.actuators[index].joint
            ends = control.get(joint, FREE) if self.contract.kind == "position" else FREE
            lower, upper = self._limits[:, k].tolist()
            servos[index] = Servo(joint, self.contract.kind, kp[k], kd[k], lower, upper, *ends)
        others = [k for k in range(len(self.robot.actuators)) if k not in servos]
        if others:
            holding = servo.size_gains(
                self.robot, self.start(), find_feet(self.robot), DEFAULT_DT, others
            )
            for index in others:
                motor = self.robot.actuators[index]
                gains = holding.kp[index], holding.kd[index]
                servos[index] = Servo(motor.joint, "position", *gains, motor.lower, motor.upper)
        return tuple(servos[index] for index in range(len(self.robot.actuators)))

    @cached_property
    def _limits(self) -> Array:
        """Lower and upper torque limits, shape (2, joints), in N m."""
        motors = [self.robot.actuators[index] for index in self.actuators]
        ends = np.array([[motor.lower, motor.upper] for motor in motors]).T
        if self.contract.torque_limit is not None:
            limit = self.per_joint("torque_limit")
            ends = np.stack([np.maximum(ends[0], -limit), np.minimum(ends[1], limit)])
        return ends

    @property
    def torque_limits(self) -> Array:
        """Largest torque (joints,), N m; of a motor without a limit, that of an error of 1 rad."""
        limits = np.abs(self._limits).max(axis=0)
        return np.where(np.isfinite(limits), limits, self.per_joint("kp"))

    @cached_property
    def robot_with_armature(self) -> Robot:
        """The robot with the armature that the policy was trained with."""
        robot = self.robot
        if self.contract.armature is None:
            return robot
        armature, bodies = self.per_joint("armature"), list(robot.bodies)
        for k, index in enumerate(self.actuators):
            i = robot.joint_index(robot.actuators[index].joint)
            joint = replace(bodies[i].joint, armature=float(armature[k]))
            bodies[i] = replace(bodies[i], joint=joint)
        return replace(robot, bodies=tuple(bodies))

    def start(self) -> Array:
        """Coordinates (nq,) with the joints at the default positions, others as the robot stands.

        The base is upright; its height is the contract's, or that of the robot's file.
        """
        frames = self.robot.keyframes
        posture = next((frames[name] for name in KEYFRAMES if name in frames), self.robot.neutral())
        q = np.array(posture, float)
        q[self.q_indices] = self.per_joint("positions")
        if self.contract.height is not None:
            q[2] = self.contract.height
        return q

    def signals(self, action: Array) -> Array:
        """Return targets or torques (worlds, motors) for filtered actions (worlds, joints)."""
        if self.contract.clip is not None:
            action = np.clip(action, *self.contract.clip)
        targets = self.per_joint("scale", 1.0) * action
        if self.contract.kind == "position":
            targets = targets + self.per_joint("offset")
        start = self.start()
        signals = np.empty((len(action), len(self.robot.actuators)))
        signals[:] = start[self.motor_indices[0]]
        signals[:, self.actuators] = targets
        return signals

    def sizes(self) -> list[tuple[Term, int]]:
        """Return how many numbers each term has, without history, in the network's order."""
        n, nq, nu = self.count, self.robot.nq, self.robot.nu
        q = np.zeros((1, nq))
        q[:, 3] = 1.0
        motion = {"joint_pos": n, "joint_vel": n, "base_pos": 3, "base_quat": 4}
        view = ObservedState(
            q,
            np.zeros((1, nu)),
            *(np.zeros((1, n)), np.zeros((1, n)), np.zeros(n), np.zeros((1, n)), np.zeros((1, n))),
            command=np.zeros((1, 3)),
            time=0.0,
            frames=self.frame,
            heights=lambda points: np.zeros(points.shape[:-1]),
            contacts=np.zeros((1, len(find_soles(self.robot)))),
            motion={name: np.eye(1, size) for name, size in motion.items()},
        )
        return [
            (term, TERMS[term.name].function(view, term.options).shape[1])
            for term in self.contract.ordered_terms
        ]

    def frame(self, name: str) -> tuple[Array, Array]:
        """Return position (3,) and rotation (3, 3) of a frame of the base, in the base's axes."""
        frame = self.robot.frame(name)
        if frame.body != 0:
            raise Unsupported(
                f"the frame {name!r} is not fixed to the base; terms take frames of the base.", name
            )
        return np.asarray(frame.position, float), np.asarray(frame.rotation, float)

    def check_sizes(self) -> None:
        """Raise InvalidFile, naming the list or term, unless all sizes fit."""
        n = self.count
        if self.network.actions not in (None, n):
            raise InvalidFile(
                f"the network returns {self.network.actions} actions, but the contract names {n}"
                " joints.",
                "joints",
            )
        for name in ("scale", "offset", "kp", "kd", "torque_limit", "armature", "positions"):
            value = numbers(getattr(self.contract, name))
            if len(value) not in (0, 1, n):
                raise InvalidFile(
                    f"{name} has {len(value)} numbers, but the policy has {n} joints.", name
                )
        sizes = self.sizes()
        for term, size in sizes:
            if len(numbers(term.scale)) not in (1, size):
                raise InvalidFile(
                    f"scale of the term {term.key!r} has {len(numbers(term.scale))} numbers, but"
                    f" the term has {size}.",
                    term.key,
                )
        if self.contract.layout == "by sample" and len({term.history for term, _ in sizes}) > 1:
            raise InvalidFile(
                "with layout = 'by sample' every term needs the same history.", "history"
            )
        total, wanted = sum(term.history * size for term, size in sizes), self.network.observations
        if wanted is not None and total != wanted:
            listed = ", ".join(
                f"{term.key} {size}" + (f" x {term.history}" if term.history > 1 else "")
                for term, size in sizes
            )
            raise InvalidFile(
                f"the network takes {wanted} observations, but the terms have {total}"
                f" ({listed}).{_suggest_fix(sizes, total - wanted)}",
                "terms",
            )


def fill_gains(contract: Contract, robot: Robot) -> Contract:
    """Return the contract with the gains that the robot's file has, where it gives none."""
    if contract.kind != "position" or contract.joints is None or contract.kp is not None:
        return contract
    by_joint = {a.joint: a for a in robot.file_actuators if a.kind == "position"}
    names = [robot.actuators[k].joint for k in actuator_indices(contract, robot)]
    if not all(name in by_joint for name in names):
        return contract
    gains = {"kp": tuple(by_joint[name].kp for name in names)}
    if contract.kd is None:
        gains["kd"] = tuple(by_joint[name].kv for name in names)
    return contract.with_values("servos of the robot's file", **gains)


def actuator_indices(contract: Contract, robot: Robot) -> NDArray[np.int64]:
    """Return the robot's actuator of each of the policy's joints.

    Raises
    ------
    UnknownName
        If the robot has no such joint with a motor; the message suggests similar names.
    """
    joints = [motor.joint for motor in robot.actuators]
    short = {_short_name(name): k for k, name in enumerate(joints)}
    indices = []
    for joint in contract.joints or ():
        if isinstance(joint, int):
            if not 0 <= joint < len(joints):
                raise InvalidFile(
                    f"the policy uses actuator {joint}, counted from 0, but {robot.name!r} has"
                    f" {len(joints)}.",
                    "joints",
                )
            indices.append(joint)
        elif joint in joints:
            indices.append(joints.index(joint))
        elif _short_name(joint) in short:
            indices.append(short[_short_name(joint)])
        else:
            raise unknown_name_error(f"joint of {robot.name!r} with a motor", joint, joints)
    return np.array(indices, dtype=np.int64)


def _short_name(name: str) -> str:
    """Strip the prefix and the suffix that files add to a joint's name."""
    return name.rpartition("/")[2].removesuffix("_joint").lower()


def _describe(question: Any) -> str:
    likely = f", likely {' or '.join(question.choices[:2])}" if question.choices else ""
    return f"{question.name} ({question.meaning}{likely})"


def _suggest_fix(sizes: list[tuple[Term, int]], excess: int) -> str:
    """Suggest the change of one term that explains a difference in size; empty if none does."""
    for term, size in sizes:
        if excess > 0 and size * term.history == excess:
            return f" Without {term.key} they would fit."
    for term, size in sizes:
        samples, rest = divmod(excess, size) if size else (0, 1)
        if not rest and term.history - samples >= 1:
            return f" They would fit with a history of {term.history - samples} of {term.key}."
    each = sum(size for _, size in sizes)
    if each and not (total := sum(s * t.history for t, s in sizes) - excess) % each:
        return f" They would fit with a history of {total // each} of every term."
    return ""
