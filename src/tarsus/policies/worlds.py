"""Many robots under the same servos, in Tarsus and in MuJoCo: what a policy drives.

Both start alike, take the same targets and are asked the same; a control period is some steps long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.parameters import names_with_role
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.servos import GAINS, PolicyServos, ServoArrays
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.simulation.ground_samples import ground_sampler
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.base import Scene
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane

Array = NDArray[np.float64]
FRICTION = 0.8  # [1]: of the ground, unless drawn
DROP = 0.1  # m: a robot starts no higher above the ground


@dataclass(frozen=True, eq=False)
class Conditions:
    """How trials differ from the contract and from each other; every array has a row for a trial.

    Parameters
    ----------
    q : ndarray
        Coordinates at the start (trials, nq).
    friction : ndarray
        Coefficient of friction (trials,).
    mass : ndarray
        Added to the base (trials,), kg.
    gains : ndarray
        Factor on the servos' stiffness and damping (trials,).
    delay : ndarray
        From observation to action, beyond the contract's (trials,), s.
    """

    q: Array
    friction: Array
    mass: Array
    gains: Array
    delay: Array

    @staticmethod
    def alike(policy: BoundPolicy, trials: int) -> Conditions:
        """Return trials as the contract says."""
        q, one = np.tile(policy.start(), (trials, 1)), np.ones(trials)
        return Conditions(q, FRICTION * one, 0 * one, one, 0 * one)

    def __len__(self) -> int:
        return len(self.q)


class PolicyWorlds(Protocol):
    """Robots side by side."""

    dt: float
    delay: Array

    @property
    def q(self) -> Array:
        """Coordinates (worlds, nq)."""
        ...

    @property
    def u(self) -> Array:
        """Velocities (worlds, nu)."""
        ...

    @property
    def touching(self) -> Array:
        """Whether each foot touches the ground (worlds, feet), 0 or 1."""
        ...

    @property
    def unconverged(self) -> NDArray[np.bool_]:
        """Whose last step's contact problem was not solved (worlds,)."""
        ...

    def advance(self, signals: Array, steps: int) -> None:
        """Make steps with targets or torques (worlds, motors)."""
        ...

    def kick(self, change: Array) -> None:
        """Change the velocities of the base by (worlds, 2), m/s, horizontally."""
        ...

    def heights(self, points: Array) -> Array:
        """Heights of the ground (worlds, n), m, below points (worlds, n, 2)."""
        ...


@dataclass(frozen=True)
class PolicyEngine:
    """Where a policy is run.

    Parameters
    ----------
    law : str
        A contact law of Tarsus, or empty for MuJoCo.
    settings : MujocoSettings
        Of MuJoCo.
    parameters : tuple of str
        Of the law, "NAME=VALUE" each.
    """

    law: str = "moreau"
    settings: MujocoSettings = field(default_factory=MujocoSettings)
    parameters: tuple[str, ...] = ()

    def worlds(
        self,
        policy: BoundPolicy,
        conditions: Conditions,
        dt: float,
        terrain: Terrain | str = "plane",
        precision: str = "float64",
    ) -> PolicyWorlds:
        """Return robots at the start of trials."""
        if self.law:
            return TarsusWorlds(policy, conditions, self, dt, terrain, precision)
        return MujocoWorlds(policy, conditions, self, dt, terrain)


class TarsusWorlds:
    """Robots under a contact law, all in one batch."""

    def __init__(
        self,
        policy: BoundPolicy,
        conditions: Conditions,
        engine: PolicyEngine,
        dt: float,
        terrain: Terrain | str,
        precision: str,
    ) -> None:
        self.dt, self.delay = dt, conditions.delay
        self._joints = [servo.joint for servo in policy.servos]
        options: dict[str, Any] = {}
        if conditions.mass.any():
            base = policy.robot.bodies[0]
            options["mass_scale"] = {base.name: 1 + conditions.mass / base.inertia.mass}
        self.simulation = Simulation(
            policy.driven,
            engine.law,
            terrain=terrain,
            controller=PolicyServos(policy.servos, tuple(policy.start().tolist())),
            dt=dt,
            worlds=len(conditions),
            precision=precision,
            parameters=engine.parameters,
            **options,
        )
        self._one, simulation = len(conditions) == 1, self.simulation
        heights = standing_heights(simulation.robot, simulation.terrain, conditions.q)
        frictions = names_with_role(type(simulation.law), "friction")
        values: dict[str, Any] = dict.fromkeys(frictions, self._row(conditions.friction))
        values["q"] = self._row(placed(conditions.q, heights, policy))
        simulation.set(command={GAINS: conditions.gains}, **values)
        self._height = _elevation(simulation.terrain)

    def _row(self, value: Array) -> Array:
        return value[0] if self._one else value

    @property
    def q(self) -> Array:
        """Coordinates (worlds, nq)."""
        return np.atleast_2d(self.simulation.q).astype(float)

    @property
    def u(self) -> Array:
        """Velocities (worlds, nu)."""
        return np.atleast_2d(self.simulation.u).astype(float)

    @property
    def touching(self) -> Array:
        """Whether each contact of a foot presses (worlds, feet)."""
        force = np.asarray(self.simulation.contact_force)
        force = force[None] if self._one else force
        return (force[..., 0] > 0).astype(float)

    @property
    def unconverged(self) -> NDArray[np.bool_]:
        """Whose last step's contact problem was not solved (worlds,)."""
        return ~np.atleast_1d(self.simulation.converged)

    def advance(self, signals: Array, steps: int) -> None:
        """Make steps with targets or torques (worlds, motors)."""
        self.simulation.set(command=dict(zip(self._joints, signals.T, strict=True)))
        self.simulation.advance(steps * self.dt)

    def kick(self, change: Array) -> None:
        """Change the velocities of the base by (worlds, 2), m/s, horizontally."""
        u = self.u
        u[:, :2] += change
        self.simulation.set(u=self._row(u))

    def heights(self, points: Array) -> Array:
        """Heights of the ground (worlds, n), m, below points (worlds, n, 2)."""
        return self._height(points)


class MujocoWorlds:
    """Robots in MuJoCo, one after the other."""

    def __init__(
        self,
        policy: BoundPolicy,
        conditions: Conditions,
        engine: PolicyEngine,
        dt: float,
        terrain: Terrain | str,
    ) -> None:
        mj, self.dt, robot = mujoco(), dt, policy.driven
        self.delay = conditions.delay
        self._servos, self._gains = ServoArrays.of(policy.servos), conditions.gains
        made = MujocoSimulation(robot, engine.settings, terrain, None, dt)
        base = mj.mj_name2id(made.model, mj.mjtObj.mjOBJ_BODY, robot.bodies[0].name)
        heights = standing_heights(made.robot, made.terrain, conditions.q)
        self._models, self.data = [], []
        for k, q in enumerate(placed(conditions.q, heights, policy)):
            model, usual = made.model, engine.settings.coefficient
            if conditions.friction[k] != usual or conditions.mass[k]:
                model = _changed(model, max(base, 1), conditions.friction[k], conditions.mass[k])
            data = mj.MjData(model)
            data.qpos[:] = q
            mj.mj_forward(model, data)
            self._models.append(model)
            self.data.append(data)
        self._at_q, self._at_u = policy.motor_places
        self._height = _elevation(made.terrain)

    @property
    def q(self) -> Array:
        """Coordinates (worlds, nq)."""
        return np.array([data.qpos for data in self.data])

    @property
    def u(self) -> Array:
        """Velocities (worlds, nu)."""
        return np.array([data.qvel for data in self.data])

    @property
    def touching(self) -> Array:
        """Whether each geom touches the ground (worlds, geoms)."""
        found = np.zeros((len(self.data), self._models[0].ngeom - 1))
        for row, data in zip(found, self.data, strict=True):
            for contact in data.contact:
                row[max(contact.geom1, contact.geom2) - 1] = 1.0
        return found

    @property
    def unconverged(self) -> NDArray[np.bool_]:
        """Nothing is known of it here."""
        return np.zeros(len(self.data), bool)

    def advance(self, signals: Array, steps: int) -> None:
        """Make steps with targets or torques (worlds, motors)."""
        mj = mujoco()
        for k, (model, data) in enumerate(zip(self._models, self.data, strict=True)):
            for _ in range(steps):
                q, u = data.qpos[self._at_q], data.qvel[self._at_u]
                data.ctrl[:] = self._servos.torques(signals[k], q, u, self._gains[k])
                mj.mj_step(model, data)

    def kick(self, change: Array) -> None:
        """Change the velocities of the base by (worlds, 2), m/s, horizontally."""
        for data, own in zip(self.data, change, strict=True):
            data.qvel[:2] += own

    def heights(self, points: Array) -> Array:
        """Heights of the ground (worlds, n), m, below points (worlds, n, 2)."""
        return self._height(points)


class Delayed:
    """Signals that reach the motors some steps after they were computed."""

    def __init__(self, worlds: PolicyWorlds, delay: float) -> None:
        self._worlds = worlds
        self._steps = np.round((delay + worlds.delay) / worlds.dt).astype(int)
        self._coming: list[tuple[int, Array]] = []
        self._now = 0

    def drive(self, signals: Array, steps: int) -> None:
        """Make the steps of a control period in which these signals were computed."""
        if not self._steps.any():
            self._worlds.advance(signals, steps)
            return
        self._coming.append((self._now, signals))
        end, longest = self._now + steps, int(self._steps.max())
        while self._now < end:
            changes = [since + late for since, _ in self._coming for late in set(self._steps)]
            until = min([t for t in changes if t > self._now] + [end])
            self._worlds.advance(self._acting(), until - self._now)
            self._now = until
        while len(self._coming) > 1 and self._coming[1][0] + longest <= self._now:
            self._coming.pop(0)

    def _acting(self) -> Array:
        """The signals (worlds, motors) that have arrived; the first ones from the beginning on."""
        found = np.array(self._coming[0][1])
        for since, signals in self._coming:
            arrived = since + self._steps <= self._now
            found[arrived] = signals[arrived]
        return found


def standing_heights(robot: Robot, terrain: Terrain, q: Array) -> Array:
    """Return the base's height (trials,) at which each posture (trials, nq) stands, m."""
    scene = Scene(robot, Moreau(), terrain, robot.candidates)
    if (q == q[0]).all():
        return np.full(len(q), place_on_ground(scene, q[0])[2])
    return np.array([place_on_ground(scene, row)[2] for row in q])


def placed(q: Array, stands: Array, policy: BoundPolicy) -> Array:
    """Coordinates (trials, nq) whose base is as high as the contract says.

    Without a height, the base stays where the robot's file has it, if that is no deeper than it
    stands and at most `DROP` above; else it stands.
    """
    found = np.array(q, float)
    above = found[:, 2] - stands
    if policy.contract.height is None:
        found[:, 2] = np.where((above >= 0) & (above <= DROP), found[:, 2], stands)
    return found


def _changed(model: Any, base: int, friction: float, mass: float) -> Any:
    """A copy of a model with another friction, and mass added to its base."""
    import copy

    other = copy.deepcopy(model)
    other.geom_friction[:, 0] = friction
    other.body_mass[base] += mass
    mujoco().mj_setConst(other, mujoco().MjData(other))
    return other


def _elevation(terrain: Terrain) -> Callable[[Array], Array]:
    """Return a function from points (worlds, n, 2) to the ground's heights (worlds, n), m."""
    if isinstance(terrain, Plane):
        return lambda points: np.zeros(points.shape[:-1])
    look = ground_sampler(terrain)
    return lambda points: look(points.reshape(-1, 2))[0].reshape(points.shape[:-1])
