"""JaxSim: articulated bodies in JAX, compiled by XLA; springs and dampers at the spheres."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tarsus.model.files import import_library
from tarsus_bench.peers.base import (
    FRICTION,
    Array,
    PeerSession,
    Work,
    body_to_world,
    world_to_body,
)

UNLIMITED = 1e6  # N m and rad/s


class JaxSimPeer(PeerSession):
    """JaxSim with its default SoftContacts; steps and servo are one compiled loop."""

    package: ClassVar[str] = "jaxsim"
    distributions: ClassVar[tuple[str, ...]] = ("jaxsim",)
    has_own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "SoftContacts, semi-implicit Euler",
        "rk4": "SoftContacts, integrator RungeKutta4",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # build the bodies directly, because JaxSim needs a program of Gazebo to read URDF
        super().__init__(work, variant)
        self._jaxsim = import_library("jaxsim", "its benchmark", "peers")
        self._jax = import_library("jax", "JaxSim's benchmark", "peers")
        js, rbda = self._jaxsim.api, self._jaxsim.rbda
        kinds = js.model.IntegratorType
        model = js.model.JaxSimModel.build(
            self._description(),
            time_step=work.dt,
            contact_model=_spheres(tuple(c.radius for c in work.robot.candidates))(),
            contact_params=rbda.contacts.SoftContactsParams.build(mu=FRICTION),
            actuation_params=rbda.actuation.ActuationParams(
                torque_max=UNLIMITED, omega_th=UNLIMITED, omega_max=2 * UNLIMITED
            ),
            integrator=kinds.RungeKutta4 if variant == "rk4" else kinds.SemiImplicitEuler,
            gravity=float(work.robot.gravity_acceleration[2]),
        )
        # a point at the center of every sphere
        links, spheres = model.link_names(), work.robot.candidates
        points = js.kin_dyn_parameters.ContactParameters(
            body=tuple(links.index(work.robot.bodies[c.body].name) for c in spheres),
            point=self._jax.numpy.array([c.position for c in spheres]),
            enabled=(True,) * len(spheres),
        )
        bodies = replace(model.kin_dyn_parameters, contact_parameters=points)
        self._model = replace(model, kin_dyn_parameters=bodies)
        # the servo in JaxSim's order of joints
        names = model.joint_names()
        self._order = [names.index(name) for name in work.joints]
        posture = np.empty(len(names))
        posture[self._order] = work.posture
        self._servo = posture, work.kp, work.kd
        self.reset()

    def _description(self) -> Any:
        """Describe bodies and hinges for JaxSim; inertias (6, 6) are in the frames of the links."""
        parts = import_library("jaxsim.parsers.descriptions", "its benchmark", "peers")
        robot, sixd = self._work.robot, self._jaxsim.math.Inertia.to_sixd
        # the bodies
        links = [
            parts.LinkDescription(
                name=body.name,
                mass=float(body.inertia.mass),
                inertia=np.array(
                    sixd(body.inertia.mass, np.array(body.inertia.com), body.inertia.about_com)
                ),
                pose=np.eye(4),
            )
            for body in robot.bodies
        ]
        # the hinges between them
        joints = [
            parts.JointDescription(
                name=body.joint.name,
                axis=np.array(body.joint.axis, float),
                pose=np.block([[body.rotation, body.position[:, None]], [np.eye(4)[3:]]]),
                jtype=parts.JointType.Revolute,
                child=link,
                parent=links[body.parent],
                friction_viscous=float(body.joint.damping),
                position_limit=(-UNLIMITED, UNLIMITED),
            )
            for body, link in zip(robot.bodies[1:], links[1:], strict=True)
        ]
        return parts.ModelDescription.build_model_from(
            name=robot.name, links=links, joints=joints, base_link_name=links[0].name
        )

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        contact = self._model.contact_params
        K, D, p, q = (float(value) for value in (contact.K, contact.D, contact.p, contact.q))
        return {
            "version": version("jaxsim"),
            "jax": version("jax"),
            "number format": str(self._data.base_position.dtype),
            "contact": "SoftContacts (Hunt and Crossley's spring) at the spheres' lowest points",
            "stiffness": f"K {K:g}, D {D:g}, p {p:g}, q {q:g}",
            "integrator": self._model.integrator.name,
            "loop": "compiled by XLA with the servo",
        }

    def mass(self) -> float:
        return float(self._jaxsim.api.model.total_mass(self._model))

    def reset(self) -> None:
        q, u = self._work.q, self._work.u
        joints = np.empty((2, len(self._order)))
        joints[:, self._order] = q[7:], u[6:]
        self._data = self._jaxsim.api.data.JaxSimModelData.build(
            self._model,
            base_position=q[:3],
            base_quaternion=q[3:7],
            base_linear_velocity=u[:3],
            base_angular_velocity=body_to_world(q, u[3:6]),
            joint_positions=joints[0],
            joint_velocities=joints[1],
            velocity_representation=self._jaxsim.VelRepr.Mixed,
        )

    def state(self) -> tuple[Array, Array]:
        data, order = self._data, self._order
        position, omega = np.asarray(data.base_position), np.asarray(data._base_angular_velocity)
        angles, rates = np.asarray(data.joint_positions), np.asarray(data.joint_velocities)
        q = np.concatenate([position, data.base_quaternion, angles[order]])
        # JaxSim stores the velocity of the point of the base that is at the world's origin
        linear = np.asarray(data._base_linear_velocity) + np.cross(omega, position)
        u = np.concatenate([linear, world_to_body(q, omega), rates[order]])
        return q[None], u[None]

    def advance(self, steps: int) -> None:
        moved = _loop()(self._model, self._data, *self._servo, steps)
        self._data = self._jax.block_until_ready(moved)


@cache  # so that all cases and step sizes of a process share the compiled code
def _loop() -> Callable[..., Any]:
    """Compile a loop of steps with the servo; the number of steps and dt are arguments."""
    jax, js = (
        import_library("jax", "JaxSim", "peers"),
        import_library("jaxsim", "its benchmark", "peers").api,
    )

    def several(model: Any, data: Any, posture: Any, kp: Any, kd: Any, steps: Any) -> Any:
        def one(_: Any, data: Any) -> Any:
            torques = kp * (posture - data.joint_positions) - kd * data.joint_velocities
            return js.model.step(model, data, joint_force_references=torques)

        return jax.lax.fori_loop(0, steps, one, data)

    return jax.jit(several)


@cache
def _spheres(radii: tuple[float, ...]) -> Any:
    """Derive from JaxSim's SoftContacts a class with contact at the lowest points of spheres.

    Parameters
    ----------
    radii
        Radii of the spheres around the contact points, m.
    """
    jax, jaxsim = (
        import_library("jax", "JaxSim", "peers"),
        import_library("jaxsim", "its benchmark", "peers"),
    )
    base: Any = jaxsim.rbda.contacts.SoftContacts
    down = np.outer(radii, [0.0, 0.0, -1.0])

    class Spheres(base):
        @staticmethod
        def compute_contact_forces(model: Any, data: Any) -> Any:
            # lowest points, and velocities of the bodies there
            center, velocity = jaxsim.api.contact.collidable_point_kinematics(model, data)
            links = np.array(model.kin_dyn_parameters.contact_parameters.body)
            omega = data._link_velocities[links, 3:6]
            touching = velocity + jax.numpy.cross(omega, down)

            # JaxSim's force at each point
            def force(point: Any, velocity: Any, deformation: Any) -> Any:
                return base.compute_contact_force(
                    point, velocity, deformation, model.contact_params, model.terrain
                )

            deformation = data.contact_state["tangential_deformation"]
            wrenches, rates = jax.vmap(force)(center + down, touching, deformation)
            return wrenches, {"m_dot": rates}

    return Spheres
