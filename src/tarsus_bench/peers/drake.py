"""Drake: its discrete solvers with point contact; the servo is a system of the diagram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tarsus.model.files import import_library
from tarsus.model.to_urdf import to_urdf
from tarsus_bench.peers.base import (
    FRICTION,
    Array,
    PeerSession,
    Work,
    body_to_world,
    world_to_body,
)

CENIC = "cenic"
ACCURACY = 0.2  # 1/s; the target accuracy of CENIC is this times dt, 1e-3 at 5 ms


class DrakePeer(PeerSession):
    """MultibodyPlant with steps of dt, advanced by a Simulator in C++."""

    package: ClassVar[str] = "pydrake"
    distributions: ClassVar[tuple[str, ...]] = ("drake",)
    has_own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "contact approximation by default",
        "sap": "contact approximation kSap",
        CENIC: "error-controlled integrator CenicIntegrator, steps of at most dt",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # the diagram: floor, robot, servo
        super().__init__(work, variant)
        self._all = import_library("pydrake.all", "its benchmark", "peers")
        drake: Any = self._all
        builder = drake.DiagramBuilder()
        plant, scene = drake.AddMultibodyPlantSceneGraph(
            builder, time_step=0.0 if variant == CENIC else work.dt
        )
        drake.Parser(plant).AddModelsFromString(to_urdf(replace(work.robot, candidates=())), "urdf")
        if variant == "sap":
            plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
        plant.mutable_gravity_field().set_gravity_vector(work.robot.gravity_acceleration)
        self._add_contacts(plant, scene)
        joints = [plant.GetJointByName(name) for name in work.joints]
        for joint in joints:
            plant.AddJointActuator(joint.name(), joint)
        plant.Finalize()
        self._in_q = np.array([joint.position_start() for joint in joints], int)
        self._in_u = np.array([joint.velocity_start() for joint in joints], int)
        if work.joints:
            self._add_servo(builder, plant)
        # the simulator
        self._plant, diagram = plant, builder.Build()
        self._simulator = drake.Simulator(diagram)
        if variant == CENIC:
            config = drake.SimulatorConfig(
                integration_scheme=CENIC, max_step_size=work.dt, accuracy=ACCURACY * work.dt
            )
            drake.ApplySimulatorConfig(config, self._simulator)
        self._context = plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        self._steps = 0

    def _add_contacts(self, plant: Any, scene: Any) -> None:
        drake, robot = self._all, self._work.robot
        friction = drake.CoulombFriction(FRICTION, FRICTION)
        still = drake.RigidTransform()
        plant.RegisterCollisionGeometry(
            plant.world_body(), still, drake.HalfSpace(), "floor", friction
        )
        spheres = [
            plant.RegisterCollisionGeometry(
                plant.GetBodyByName(robot.bodies[c.body].name),
                drake.RigidTransform(np.array(c.position)),
                drake.Sphere(c.radius),
                c.name,
                friction,
            )
            for c in robot.candidates
        ]
        collision_filter = drake.CollisionFilterDeclaration().ExcludeWithin(
            drake.GeometrySet(spheres)
        )
        scene.collision_filter_manager().Apply(collision_filter)

    def _add_servo(self, builder: Any, plant: Any) -> None:
        """Add tau = kp (posture - angle) - kd rate as an affine system of the plant's state."""
        work, count = self._work, len(self._in_q)
        gain = np.zeros((count, plant.num_multibody_states()))
        gain[range(count), self._in_q] = -work.kp
        gain[range(count), self._in_u + plant.num_positions()] = -work.kd
        servo = builder.AddSystem(
            self._all.AffineSystem(D=gain, y0=work.kp * work.posture, time_period=0.0)
        )
        builder.Connect(plant.get_state_output_port(), servo.get_input_port())
        builder.Connect(servo.get_output_port(), plant.get_actuation_input_port())

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        plant, dt = self._plant, self._work.dt
        discrete = {
            "contact approximation": str(plant.get_discrete_contact_approximation()),
            "near-rigid threshold": str(plant.get_sap_near_rigid_threshold()),
        }
        controlled = {
            "integrator": f"CenicIntegrator, accuracy {ACCURACY * dt:g}, steps up to {dt:g} s",
            "servo": "continuous, solved implicitly with the contacts",
        }
        return {
            "version": version("drake"),
            "number format": "float64",
            **(discrete if plant.time_step() else controlled),
            "contact model": str(plant.get_contact_model()),
            "contact": "point contact, stiffness and dissipation by default",
        }

    def mass(self) -> float:
        return float(self._plant.CalcTotalMass(self._context))

    def reset(self) -> None:
        q, u, plant = self._work.q, self._work.u, self._plant
        positions, velocities = plant.GetPositions(self._context), np.zeros(plant.num_velocities())
        positions[:4], positions[4:7], positions[self._in_q] = q[3:7], q[:3], q[7:]
        velocities[:3], velocities[3:6] = body_to_world(q, u[3:6]), u[:3]
        velocities[self._in_u] = u[6:]
        self._simulator.get_mutable_context().SetTime(0.0)
        plant.SetPositions(self._context, positions)
        plant.SetVelocities(self._context, velocities)
        self._simulator.Initialize()
        self._steps = 0

    def state(self) -> tuple[Array, Array]:
        p, v = (
            np.array(x)
            for x in (
                self._plant.GetPositions(self._context),
                self._plant.GetVelocities(self._context),
            )
        )
        q = np.concatenate([p[4:7], p[:4] / np.linalg.norm(p[:4]), p[self._in_q]])
        rates = v[self._in_u]
        return q[None], np.concatenate([v[3:6], world_to_body(q, v[:3]), rates])[None]

    def advance(self, steps: int) -> None:
        self._steps += steps
        self._simulator.AdvanceTo(self._steps * self._work.dt)
