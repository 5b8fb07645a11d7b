"""Worlds in Tarsus or MuJoCo in which a policy drives a robot, with equal servos and initial state.

A control period consists of several steps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.engines.mujoco import MujocoSession
from tarsus.engines.tarsus import SimulationSession
from tarsus.morphology.feet import find_soles
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.mujoco_runs.worlds import MujocoWorlds
from tarsus.parameters import names_with_role
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.servos import GAIN_COMMAND, PolicyServos, ServoArrays
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.simulation.ground_samples import ground_sampler
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.base import Scene
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane

Array = NDArray[np.float64]
MIN_DRY_FRICTION = 1e-9  # N m: of a joint without dry friction, so that trials can add it
FRICTION = 0.8  # coefficient of the ground
MAX_DROP = 0.1  # m: largest initial height of the feet above the ground
PARKING_HEIGHT = 1e4  # m: a robot dropped from here does not reach the ground within 40 s


@dataclass(frozen=True, eq=False)
class Conditions:
    """Initial state, ground and robot of each trial; every array has one row per trial.

    Parameters
    ----------
    q : ndarray
        Initial coordinates, shape (trials, nq).
    friction : ndarray
        Friction coefficient, shape (trials,).
    mass : ndarray
        Mass added to the base, shape (trials,), in kg.
    gains : ndarray
        Factor on the servos' stiffness and damping, shape (trials,).
    delay : ndarray
        Delay from observation to action in addition to the contract's, shape (trials,), in s.
    joint_friction : ndarray
        Dry friction added to every joint of the policy, shape (trials,), as a share of the joint's
        torque limit.
    """

    q: Array
    friction: Array
    mass: Array
    gains: Array
    delay: Array
    joint_friction: Array

    @staticmethod
    def uniform(policy: BoundPolicy, trials: int) -> Conditions:
        """Create trials that all have the conditions of the contract."""
        q, one = np.tile(policy.start(), (trials, 1)), np.ones(trials)
        return Conditions(q, FRICTION * one, 0 * one, one, 0 * one, 0 * one)

    def __len__(self) -> int:
        return len(self.q)


class PolicyWorlds:
    """Batch of worlds in one engine, in which servos follow the signals of a policy.

    Parameters
    ----------
    session : SimulationSession or MujocoSession
        Session with the robots in their initial state.
    drive : callable
        Sets the signals that the servos follow, shape (worlds, motors).
    delay : ndarray
        Delay from observation to action in addition to the contract's, shape (worlds,), in s.
    terrain : Terrain
        Ground.
    feet : sequence
        Columns of the session's contacts that belong to each foot.
    """

    def __init__(
        self,
        session: SimulationSession | MujocoSession,
        drive: Callable[[Array], None],
        delay: Array,
        terrain: Terrain,
        feet: Sequence[Sequence[int]],
    ) -> None:
        self.session, self.dt, self.delay = session, session.dt, delay
        self._parked = np.array(self.q)
        self._parked[:, 2] += PARKING_HEIGHT
        self._drive, self._height, self._feet = drive, height_function(terrain), feet

    @property
    def q(self) -> Array:
        """Coordinates, shape (worlds, nq)."""
        return self.session.state()[0]

    @property
    def u(self) -> Array:
        """Velocities, shape (worlds, nu)."""
        return self.session.state()[1]

    @property
    def touching(self) -> Array:
        """Contact of each foot with the ground, 0 or 1, shape (worlds, feet)."""
        contacts = self.session.touching
        if not self._feet:
            return np.zeros((len(contacts), 0))
        return np.stack([contacts[:, k].any(axis=1) for k in self._feet], axis=1).astype(float)

    @property
    def unconverged(self) -> NDArray[np.bool_]:
        """Mask of the worlds whose last step did not converge, shape (worlds,)."""
        return ~self.session.converged

    def advance(self, signals: Array, steps: int) -> None:
        """Advance several steps with constant signals: targets or torques (worlds, motors)."""
        self._drive(signals)
        self.session.advance(steps)

    def kick(self, change: Array) -> None:
        """Add a horizontal velocity change, shape (worlds, 2), in m/s, to the bases."""
        u = self.u
        u[:, :2] += change
        self.session.put(u=u)

    def park_fallen(self, fallen: NDArray[np.bool_]) -> None:
        """Lift the robots selected by `fallen` off the ground, where they take little time."""
        self.session.put(self._parked, np.zeros_like(self.u), fallen)

    def heights(self, points: Array) -> Array:
        """Compute ground heights, shape (worlds, n), in m, below points (worlds, n, 2)."""
        return self._height(points)


@dataclass(frozen=True)
class PolicyEngine:
    """Contact law or simulator in which a policy is run.

    Parameters
    ----------
    law : str
        Contact law of Tarsus, or empty for MuJoCo.
    settings : MujocoSettings
        Settings of MuJoCo.
    parameters : tuple of str
        Parameters of the law, each "NAME=VALUE".
    """

    law: str = "moreau"
    settings: MujocoSettings = field(default_factory=MujocoSettings)
    parameters: tuple[str, ...] = ()

    def with_parameter(self, name: str, value: str) -> PolicyEngine:
        """Create an engine with one parameter of its law set."""
        others = [text for text in self.parameters if text.partition("=")[0].strip() != name]
        return replace(self, parameters=(*others, f"{name}={value}"))

    def with_stiffness(self, value: float) -> PolicyEngine:
        """Create an engine with every stiffness of its law set to one value."""
        engine = self
        law = registry.create("tarsus.contact.laws", "law", self.law, Law)
        for name in names_with_role(type(law), "stiffness"):
            engine = engine.with_parameter(name, repr(value))
        return engine

    def create_worlds(
        self,
        policy: BoundPolicy,
        conditions: Conditions,
        dt: float,
        terrain: Terrain | str = "plane",
        precision: str = "float64",
    ) -> PolicyWorlds:
        """Create the worlds of some trials, in their initial state."""
        if self.law:
            return self._create_in_tarsus(policy, conditions, dt, terrain, precision)
        return self._create_in_mujoco(policy, conditions, dt, terrain)

    def _create_in_tarsus(
        self,
        policy: BoundPolicy,
        conditions: Conditions,
        dt: float,
        terrain: Terrain | str,
        precision: str,
    ) -> PolicyWorlds:
        """Create worlds under a contact law, in one batch with compiled servos."""
        base = policy.robot.bodies[0]
        # also if nothing is added, so that all trials use the same compiled program
        mass_scale = {base.name: 1 + conditions.mass / base.inertia.mass}
        has_joint_friction = conditions.joint_friction.any()
        joint_friction = dry_friction(policy, conditions) if has_joint_friction else {}
        simulation = Simulation(
            _add_dry_friction(policy.robot_with_armature, joint_friction),
            self.law,
            terrain=terrain,
            controller=PolicyServos(policy.servos, tuple(policy.start().tolist())),
            dt=dt,
            worlds=len(conditions),
            precision=precision,
            parameters=self.parameters,
            mass_scale=mass_scale,
            varied={"dry_friction": list(joint_friction)} if joint_friction else {},
        )
        session = SimulationSession(simulation)
        frictions = names_with_role(type(simulation.law), "friction")
        one = len(conditions) == 1
        friction: Any = conditions.friction[0] if one else conditions.friction
        values: dict[str, Any] = dict.fromkeys(frictions, friction)
        if joint_friction:
            values["dry_friction"] = {
                joint: v[0] if one else v for joint, v in joint_friction.items()
            }
        simulation.set(command={GAIN_COMMAND: conditions.gains}, **values)
        heights = standing_heights(simulation.robot, simulation.terrain, conditions.q)
        session.put(place_base(conditions.q, heights, policy))
        joints = [servo.joint for servo in policy.servos]

        def drive(signals: Array) -> None:
            simulation.set(command=dict(zip(joints, signals.T, strict=True)))

        candidates = simulation.plan.scene.candidates
        feet = [
            [k for k, candidate in enumerate(candidates) if candidate.body == body]
            for body in find_soles(policy.robot)
        ]
        return PolicyWorlds(session, drive, conditions.delay, simulation.terrain, feet)

    def _create_in_mujoco(
        self, policy: BoundPolicy, conditions: Conditions, dt: float, terrain: Terrain | str
    ) -> PolicyWorlds:
        """Create worlds in MuJoCo, with servos computed in NumPy before every step."""
        mj, robot = mujoco(), policy.robot_with_armature
        simulation = MujocoSimulation(robot, self.settings, terrain, None, dt)
        base = mj.mj_name2id(simulation.model, mj.mjtObj.mjOBJ_BODY, robot.bodies[0].name)
        joint_friction = dry_friction(policy, conditions)
        models = []
        for k in range(len(conditions)):
            friction, mass = conditions.friction[k], conditions.mass[k]
            has_joint_friction = conditions.joint_friction[k]
            unchanged = (
                friction == self.settings.coefficient and not mass and not has_joint_friction
            )
            added_friction = (
                {joint: values[k] for joint, values in joint_friction.items()}
                if has_joint_friction
                else {}
            )
            models.append(
                simulation.model
                if unchanged
                else _modify_model(simulation.model, max(base, 1), friction, mass, added_friction)
            )
        heights = standing_heights(simulation.robot, simulation.terrain, conditions.q)
        worlds = MujocoWorlds(models, place_base(conditions.q, heights, policy))
        worlds.forward()
        servos, gains = ServoArrays.from_servos(policy.servos), conditions.gains[:, None]
        q_indices, u_indices = policy.motor_indices

        session = MujocoSession(worlds, dt)

        def drive(signals: Array) -> None:
            def torques(t: float, q: Array, u: Array) -> Array:
                return servos.torques(signals, q[:, q_indices], u[:, u_indices], gains)

            session.drive(torques)

        bodies = [
            mj.mj_name2id(simulation.model, mj.mjtObj.mjOBJ_BODY, robot.bodies[body].name)
            for body in find_soles(robot)
        ]
        owners = simulation.model.geom_bodyid[1:]  # geom 0 is the floor
        feet = [np.flatnonzero(owners == body).tolist() for body in bodies]
        return PolicyWorlds(session, drive, conditions.delay, simulation.terrain, feet)


class DelayLine:
    """Delay line for signals, which reach the motors several steps after they are computed."""

    def __init__(self, worlds: PolicyWorlds, delay: float) -> None:
        self._worlds = worlds
        self._steps = np.round((delay + worlds.delay) / worlds.dt).astype(int)
        self._pending: list[tuple[int, Array]] = []
        self._now = 0

    def drive(self, signals: Array, steps: int) -> None:
        """Advance the control period in which these signals were computed."""
        if not self._steps.any():
            self._worlds.advance(signals, steps)
            return
        self._pending.append((self._now, signals))
        end, longest = self._now + steps, int(self._steps.max())
        while self._now < end:
            changes = [since + steps for since, _ in self._pending for steps in set(self._steps)]
            until = min([t for t in changes if t > self._now] + [end])
            self._worlds.advance(self._arrived_signals(), until - self._now)
            self._now = until
        while len(self._pending) > 1 and self._pending[1][0] + longest <= self._now:
            self._pending.pop(0)

    def _arrived_signals(self) -> Array:
        """Select the newest signals that have arrived, or the first signals if none have."""
        acting = np.array(self._pending[0][1])
        for since, signals in self._pending:
            arrived = since + self._steps <= self._now
            acting[arrived] = signals[arrived]
        return acting


def standing_heights(robot: Robot, terrain: Terrain, q: Array) -> Array:
    """Compute the base height, shape (trials,), in m, at which each posture stands."""
    scene = Scene(robot, Moreau(), terrain, robot.candidates)
    return place_on_ground(scene, q)[:, 2]


def place_base(q: Array, stands: Array, policy: BoundPolicy) -> Array:
    """Set the base height of coordinates (trials, nq) to the height that the contract gives.

    If it gives none, the base keeps the height of the robot file, unless the feet would be more
    than `MAX_DROP` above the ground; then the robot stands on the ground. Feet never start below
    the ground, because stiff ground would throw the robot.
    """
    result = np.array(q, float)
    dropped = policy.contract.height is not None or result[:, 2] - stands <= MAX_DROP
    result[:, 2] = np.where(dropped, np.maximum(result[:, 2], stands), stands)
    return result


def dry_friction(policy: BoundPolicy, conditions: Conditions) -> dict[str, Array]:
    """Compute the dry friction, shape (trials,), in N m, of each joint of the policy, by name."""
    joints = [policy.servos[k].joint for k in policy.actuators]
    return {
        joint: policy.robot.bodies[policy.robot.joint_index(joint)].joint.dry_friction
        + limit * conditions.joint_friction
        for joint, limit in zip(joints, policy.torque_limits, strict=True)
    }


def _add_dry_friction(robot: Robot, joints: Iterable[str]) -> Robot:
    """Add tiny dry friction to those of some joints that have no equation for it."""
    chosen = set(joints)
    bodies = [
        replace(body, joint=replace(body.joint, dry_friction=MIN_DRY_FRICTION))
        if body.joint.name in chosen and not body.joint.has_dry_friction
        else body
        for body in robot.bodies
    ]
    return replace(robot, bodies=tuple(bodies)) if chosen else robot


def _modify_model(
    model: Any, base: int, friction: float, mass: float, joint_friction: Mapping[str, float]
) -> Any:
    """Copy a model and change its ground friction, the mass of its base and dry joint friction.

    `joint_friction` gives the dry friction in N m of the joints to change, by name.
    """
    changed = copy.deepcopy(model)
    changed.geom_friction[:, 0] = friction
    changed.body_mass[base] += mass
    for joint, value in joint_friction.items():
        changed.dof_frictionloss[changed.joint(joint).dofadr[0]] = value
    mujoco().mj_setConst(changed, mujoco().MjData(changed))
    return changed


def height_function(terrain: Terrain) -> Callable[[Array], Array]:
    """Create a function that maps points (worlds, n, 2) to ground heights (worlds, n), in m."""
    if isinstance(terrain, Plane):
        return lambda points: np.zeros(points.shape[:-1])
    sample = ground_sampler(terrain)
    return lambda points: sample(points.reshape(-1, 2))[0].reshape(points.shape[:-1])
