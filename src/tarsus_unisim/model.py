"""Queries of the unisim interface about a robot: names, indices, ranges and masses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from unisim import SimBackend
from unisim.backend.base import PublicStateWidths, RootStateLayout
from unisim.errors import UnsupportedCapabilityError

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import SCALAR, BodyStates, dof_values

Array = NDArray[Any]


class UnsupportedError(UnsupportedCapabilityError, NotImplementedError):
    """Capability of the interface that is not declared and not available."""


class ModelQueries(SimBackend):
    """Queries about the robot that do not depend on its state.

    Attributes
    ----------
    backend_type
        Name of this backend in reports of the interface.
    """

    backend_type: ClassVar[str] = "tarsus"  # pyright: ignore[reportIncompatibleVariableOverride]
    simulation: Simulation
    bodies: BodyStates
    _start: Array
    _num_envs: int

    @property
    def num_envs(self) -> int:
        """Number of worlds."""
        return self._num_envs

    @property
    def model(self) -> Robot:
        """The robot as it is simulated."""
        return self.simulation.robot

    @property
    def num_actuators(self) -> int:
        """Number of control signals."""
        return len(self._motors)

    @property
    def num_dof_vel(self) -> int:
        """Number of velocities without those of a floating base."""
        return self.model.nu - self._root[1]

    @property
    def _root(self) -> tuple[int, int]:
        """Number of columns of a floating base in qpos and qvel."""
        return (7, 6) if self.model.floating else (0, 0)

    @property
    def _motors(self) -> Sequence[Any]:
        """Actuators that take the control signals, in order."""
        from_file = self.simulation.actuators is not None
        return self.model.file_actuators if from_file else self.model.actuators

    def get_actuator_ctrl_range(self) -> Array:
        """Return the control ranges, (num_actuators, 2): targets of servos, torques of motors.

        Torques are in N m; unlimited ranges are infinite.
        """
        if self.simulation.actuators is None:
            return np.array([(m.lower, m.upper) for m in self.model.actuators]).reshape(-1, 2)
        return np.array([m.control for m in self.model.file_actuators]).reshape(-1, 2)

    def get_actuator_names(self) -> tuple[str, ...]:
        return tuple(motor.name for motor in self._motors)

    def get_actuator_joint_names(self) -> tuple[str, ...]:
        return tuple(motor.joint for motor in self._motors)

    def get_actuator_gains(self) -> tuple[Array, Array]:
        """Return kp and kd of position servos, (num_actuators,).

        Other actuators raise UnsupportedError.
        """
        if not self.position_servos:
            raise UnsupportedError("not all actuators of this robot are position servos.")
        return self._gains("kp"), self._gains("kv")

    @property
    def position_servos(self) -> bool:
        """Whether all actuators are position servos."""
        from_file = self.simulation.actuators is not None
        return from_file and all(a.kind == "position" for a in self.model.file_actuators)

    def _gains(self, name: str) -> Array:
        return self.simulation.backend.get(f"actuators.{name}")[0].astype(float)

    def get_scene_model_file(self) -> str | None:
        """Return the path of the robot's file; None for a built-in robot."""
        return self.model.origin.file or None

    def get_keyframe_qpos(self, name: str) -> Array:
        """Return the coordinates of a keyframe, (nq,); raise ValueError for an unknown name."""
        if name not in self.model.keyframes:
            raise unknown_name_error("keyframe", name, self.model.keyframes)
        return np.array(self.model.keyframes[name], float)

    def get_default_qpos(self) -> Array:
        """Return the coordinates of resets, (nq,): standing on the ground, in world 0."""
        return self._start[0].copy()

    def get_default_dof_pos(self) -> Array:
        return self._start[0, self._root[0] :].copy()

    def get_init_qvel(self) -> Array:
        return np.zeros(self.model.nu)

    def get_public_state_widths(self) -> PublicStateWidths:
        return PublicStateWidths(nq=self.model.nq, nv=self.model.nu)

    def get_root_state_layout(self, root_body_name: str) -> RootStateLayout:
        """Return the columns of a free body: velocity in world, angular velocity in body axes."""
        number = self.get_body_id(root_body_name)
        robot = self.model
        if number >= len(robot.bodies) or robot.bodies[number].joint.kind != "free":
            raise UnsupportedError(f"the body {root_body_name!r} has no free joint.")
        q, u = robot.q_slices[number], robot.u_slices[number]
        return RootStateLayout(tuple(range(q.start, q.stop)), tuple(range(u.start, u.stop)))

    def get_body_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return indices of bodies, fixed links and sites; raise ValueError for unknown names."""
        return self._ids("body", names, self.bodies.names)

    def get_site_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return indices as `get_body_ids` does; a body has the index of its frame."""
        return self._ids("site", names, self.bodies.names)

    @staticmethod
    def _ids(kind: str, names: Sequence[str], known: Sequence[str]) -> NDArray[np.int32]:
        for name in names:
            if name not in known:
                raise unknown_name_error(kind, name, known)
        return np.array([known.index(name) for name in names], np.int32)

    def get_body_subtree_ids(self, root_body_id: int) -> NDArray[np.int32]:
        """Return the indices of a body and its descendants."""
        inside = {int(root_body_id)}
        for number, body in enumerate(self.model.bodies):
            if body.parent in inside:
                inside.add(number)
        return np.array(sorted(inside), np.int32)

    def get_site_jacobian_w(self, site_id: int, dof_indices: Array) -> tuple[Array, Array]:
        """Return the translational and rotational Jacobian of a frame, (num_envs, 3, n) each.

        They are in world axes.
        """
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
        """Return the columns of hinges and slides in qpos."""
        return np.array([self.model.q_slices[self._scalar(n)].start for n in names], np.int32)

    def get_joint_state_qvel_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the columns of hinges and slides in qvel."""
        return np.array([self.model.u_slices[self._scalar(n)].start for n in names], np.int32)

    def get_joint_dof_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        return self.get_joint_state_qvel_indices(names)

    def get_joint_dof_pos_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the columns in qpos, counted after those of a floating base."""
        return self.get_joint_state_qpos_indices(names) - np.int32(self._root[0])

    def get_joint_dof_vel_indices(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the columns in qvel, counted after those of a floating base."""
        return self.get_joint_state_qvel_indices(names) - np.int32(self._root[1])

    def _scalar(self, name: str) -> int:
        """Return the index of the body that a hinge or slide moves; raise ValueError for others."""
        number = self.model.joint_index(name)
        if self.model.bodies[number].joint.kind not in SCALAR:
            raise InvalidValue(f"the joint {name!r} must be a hinge or slide.", name)
        return number

    def get_joint_range(self, *, names: Sequence[str] | None = None) -> Array:
        """Return the ranges of hinges and slides, (n, 2), in rad or m; infinite without limit."""
        moving = [b for b in self.model.bodies if b.joint.kind in SCALAR]
        chosen = moving if names is None else [self.model.bodies[self._scalar(n)] for n in names]
        return np.array([(b.joint.lower, b.joint.upper) for b in chosen]).reshape(-1, 2)

    def get_gravity(self) -> Array:
        return np.array(self.model.gravity_acceleration, float)

    def get_body_mass(self) -> Array:
        """Return the masses in the model, (bodies,), in kg."""
        return np.array([body.inertia.mass for body in self.model.bodies])

    def get_dof_armature(self) -> Array:
        return dof_values(self.model, "armature")

    def get_dof_damping(self) -> Array:
        return dof_values(self.model, "damping")

    def get_dof_frictionloss(self) -> Array:
        return dof_values(self.model, "dry_friction")
