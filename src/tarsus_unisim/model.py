"""What `unisim`'s contract asks of a robot: names, numbers of columns, ranges, masses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from unisim import SimBackend
from unisim.backend.base import PublicStateWidths, RootStateLayout
from unisim.errors import UnsupportedCapabilityError

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, unknown_name
from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import SCALAR, BodyStates, of_dofs

Array = NDArray[Any]


class UnsupportedError(UnsupportedCapabilityError, NotImplementedError):
    """A capability of the contract that is not declared, and not there."""


class ModelQueries(SimBackend):
    """The queries of the contract that a robot answers, whatever its state.

    backend_type: how the contract's reports name this
    """

    backend_type: ClassVar[str] = "tarsus"  # pyright: ignore[reportIncompatibleVariableOverride]
    simulation: Simulation
    bodies: BodyStates
    _start: Array
    _num_envs: int

    @property
    def num_envs(self) -> int:
        """Worlds."""
        return self._num_envs

    @property
    def model(self) -> Robot:
        """The robot as it is simulated."""
        return self.simulation.robot

    @property
    def num_actuators(self) -> int:
        """Control signals."""
        return len(self._motors)

    @property
    def num_dof_vel(self) -> int:
        """Velocities without those of a floating base."""
        return self.model.nu - self._root[1]

    @property
    def _root(self) -> tuple[int, int]:
        """Columns of a floating base in qpos and qvel."""
        return (7, 6) if self.model.floating else (0, 0)

    @property
    def _motors(self) -> Sequence[Any]:
        """What takes the control signals, in order."""
        own = self.simulation.actuators is not None
        return self.model.file_actuators if own else self.model.actuators

    def get_actuator_ctrl_range(self) -> Array:
        """(num_actuators, 2): of a servo its targets, of a motor its torque, N m; infinite where
        there is no range.
        """
        if self.simulation.actuators is None:
            return np.array([(m.lower, m.upper) for m in self.model.actuators]).reshape(-1, 2)
        return np.array([m.control for m in self.model.file_actuators]).reshape(-1, 2)

    def get_actuator_names(self) -> tuple[str, ...]:
        return tuple(motor.name for motor in self._motors)

    def get_actuator_joint_names(self) -> tuple[str, ...]:
        return tuple(motor.joint for motor in self._motors)

    def get_actuator_gains(self) -> tuple[Array, Array]:
        """kp, kd (num_actuators,) of position servos; UnsupportedError for others."""
        if not self.position_servos:
            raise UnsupportedError("not all actuators of this robot are position servos.")
        return self._gains("kp"), self._gains("kv")

    @property
    def position_servos(self) -> bool:
        """Whether every actuator is a position servo."""
        own = self.simulation.actuators is not None
        return own and all(a.kind == "position" for a in self.model.file_actuators)

    def _gains(self, name: str) -> Array:
        return self.simulation.backend.get(f"actuators.{name}")[0].astype(float)

    def get_scene_model_file(self) -> str | None:
        """The robot's file; None for a built-in one."""
        return self.model.origin.file or None

    def get_keyframe_qpos(self, name: str) -> Array:
        """(nq,) of a keyframe of the file; ValueError if there is none of that name."""
        if name not in self.model.keyframes:
            raise unknown_name("keyframe", name, self.model.keyframes)
        return np.array(self.model.keyframes[name], float)

    def get_default_qpos(self) -> Array:
        """(nq,) where worlds start, and are reset to: standing on the ground (that of world 0)."""
        return self._start[0].copy()

    def get_default_dof_pos(self) -> Array:
        return self._start[0, self._root[0] :].copy()

    def get_init_qvel(self) -> Array:
        return np.zeros(self.model.nu)

    def get_public_state_widths(self) -> PublicStateWidths:
        return PublicStateWidths(nq=self.model.nq, nv=self.model.nu)

    def get_root_state_layout(self, root_body_name: str) -> RootStateLayout:
        """Columns of a free body: linear velocity in world axes, angular in body axes."""
        number = self.get_body_id(root_body_name)
        robot = self.model
        if number >= len(robot.bodies) or robot.bodies[number].joint.kind != "free":
            raise UnsupportedError(f"the body {root_body_name!r} has no free joint.")
        q, u = robot.q_slices[number], robot.u_slices[number]
        return RootStateLayout(tuple(range(q.start, q.stop)), tuple(range(u.start, u.stop)))

    def get_body_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Of bodies, welded links and sites; ValueError with near names for others."""
        return self._ids("body", names, self.bodies.names)

    def get_site_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """As `get_body_ids`: a body's number is that of its frame."""
        return self._ids("site", names, self.bodies.names)

    @staticmethod
    def _ids(kind: str, names: Sequence[str], known: Sequence[str]) -> NDArray[np.int32]:
        for name in names:
            if name not in known:
                raise unknown_name(kind, name, known)
        return np.array([known.index(name) for name in names], np.int32)

    def get_body_subtree_ids(self, root_body_id: int) -> NDArray[np.int32]:
        """Of a body and all that hang on it."""
        inside = {int(root_body_id)}
        for number, body in enumerate(self.model.bodies):
            if body.parent in inside:
                inside.add(number)
        return np.array(sorted(inside), np.int32)

    def get_site_jacobian_w(self, site_id: int, dof_indices: Array) -> tuple[Array, Array]:
        """Translation and rotation (num_envs, 3, n) of a frame's origin, world axes."""
        name = self.bodies.frames[int(site_id)].name
        whole = self.model.jacobian(self._q, name).reshape(self.num_envs, 6, -1)
        chosen = whole[:, :, np.asarray(dof_indices, int)]
        return chosen[:, :3], chosen[:, 3:]

    @property
    def _q(self) -> Array:
        return self.simulation.q.reshape(self.num_envs, -1)

    @property
    def _u(self) -> Array:
        return self.simulation.u.reshape(self.num_envs, -1)

    def get_joint_state_qpos_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Columns of hinges and slides in qpos."""
        return np.array([self.model.q_slices[self._scalar(n)].start for n in names], np.int32)

    def get_joint_state_qvel_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Columns of hinges and slides in qvel."""
        return np.array([self.model.u_slices[self._scalar(n)].start for n in names], np.int32)

    def get_joint_dof_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        return self.get_joint_state_qvel_indices(names)

    def get_joint_dof_pos_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Columns behind those of a floating base."""
        return self.get_joint_state_qpos_indices(names) - np.int32(self._root[0])

    def get_joint_dof_vel_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Columns behind those of a floating base."""
        return self.get_joint_state_qvel_indices(names) - np.int32(self._root[1])

    def _scalar(self, name: str) -> int:
        """The number of the body that a hinge or slide moves; ValueError for others."""
        number = self.model.joint_index(name)
        if self.model.bodies[number].joint.kind not in SCALAR:
            raise InvalidValue(f"the joint {name!r} must be a hinge or slide.", name)
        return number

    def get_joint_range(self, *, names: Sequence[str] | None = None) -> Array:
        """(n, 2), rad or m, of hinges and slides; infinite where there is no limit."""
        moving = [b for b in self.model.bodies if b.joint.kind in SCALAR]
        chosen = moving if names is None else [self.model.bodies[self._scalar(n)] for n in names]
        return np.array([(b.joint.lower, b.joint.upper) for b in chosen]).reshape(-1, 2)

    def get_gravity(self) -> Array:
        return np.array(self.model.gravity_acceleration, float)

    def get_body_mass(self) -> Array:
        """(bodies,), kg, of the robot as it was made."""
        return np.array([body.inertia.mass for body in self.model.bodies])

    def get_dof_armature(self) -> Array:
        return of_dofs(self.model, "armature")

    def get_dof_damping(self) -> Array:
        return of_dofs(self.model, "damping")

    def get_dof_frictionloss(self) -> Array:
        return of_dofs(self.model, "dry_friction")
