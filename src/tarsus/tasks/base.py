"""Base class of learning tasks: observations, rewards and failure as expressions.

To add a task, create a file in `tarsus/tasks` with one frozen dataclass that derives from
`LearningTask`. The name of the file is the name of the task. Everything is compiled together with
the steps of a control period into one call for all worlds (`tarsus.environments`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnmetCondition
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import check, name_of, parameter
from tarsus.sensing.base import Sensor

Range = tuple[float, float]
Image = tuple[float, ...] | str
Heights = Callable[[list[SX]], list[SX]]
T = TypeVar("T")
MOTORS = "motors"  # one number per motor, in their order
MOVED = "moved"  # one number per motor that an action moves
POLAR, AXIAL = (
    (1.0, -1.0, 1.0),
    (-1.0, 1.0, -1.0),
)  # mirror signs of x, y, z of a direction, and of an angular velocity


@dataclass(frozen=True, eq=False)
class StateView:
    """View of the state after a control period, as symbols.

    Attributes
    ----------
    kin
        Kinematics of the robot, with velocities.
    angles, rates
        Angles and rates of the actuated joints, shape (n,), in rad and rad/s.
    torque
        Motor torques in the last step of the period, shape (n,), in N m.
    in_contact
        1 if the ground pushes a foot in that step, else 0, by name.
    action, previous_action
        Actions of this period and the one before, shape (k,).
    command
        Commands, by name.
    clock
        Time since the episode started, in s.
    heights
        Function from points, shape (3,), to the ground heights below them, in m, world axes.
    stand
        Coordinates of the standing posture, shape (nq,).
    sensed
        Readings of the task's sensors after the last step, shape (k,), by name.
    """

    kin: Kinematics
    angles: SX
    rates: SX
    torque: SX
    in_contact: Mapping[str, SX]
    action: SX
    previous_action: SX
    command: Mapping[str, SX]
    clock: SX
    heights: Heights
    stand: NDArray[np.float64]
    sensed: Mapping[str, SX] = field(default_factory=dict)

    @property
    def posture(self) -> SX:
        """Angles of the actuated joints in the standing posture, shape (n,), in rad."""
        mechanism = self.kin.mechanism
        bodies = [mechanism.joint_index(actuator.joint) for actuator in mechanism.actuators]
        return SX(ca.DM([self.stand[mechanism.q_slices[b].start] for b in bodies]))

    @property
    def rotation(self) -> SX:
        """Rotation matrix of the base, from its axes to the world's, shape (3, 3)."""
        return self.kin.world_rotation[0]

    @property
    def height(self) -> SX:
        """Height of the base above the ground below it, in m."""
        origin = self.kin.world_position[0]
        return origin[2] - self.heights([origin])[0]

    @property
    def heading(self) -> SX:
        """Heading of the base, a horizontal unit vector, shape (2,)."""
        ahead = self.rotation[:2, 0]
        return ahead / ca.sqrt(ca.fmax(ca.sumsqr(ahead), 1e-12))

    @property
    def velocity(self) -> SX:
        """Velocity of the base, shape (3,), in m/s: along its heading, to the left, and upwards."""
        v, ahead = ca.mtimes(self.rotation, self.kin.velocity[0]), self.heading
        left = ca.vertcat(-ahead[1], ahead[0])
        return ca.vertcat(ca.dot(ahead, v[:2]), ca.dot(left, v[:2]), v[2])

    @property
    def angular_velocity(self) -> SX:
        """Angular velocity of the base in its own axes, shape (3,), in rad/s."""
        return self.kin.omega[0]

    @property
    def down(self) -> SX:
        """Direction of gravity in the axes of the base, shape (3,)."""
        return -self.rotation[2, :].T


@dataclass(frozen=True)
class TermSource:
    """Observation term of a policy's contract (`tarsus.policies.terms`), and a factor on it.

    Joint terms have one number per motor; a part of `MOVED` motors uses theirs.
    """

    name: str
    scale: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Observed:
    """Numbers of an observation, shape (k,).

    Attributes
    ----------
    value
        The numbers, of magnitude one.
    noise
        Half width of their uniform noise.
    mirror
        Mirror signs, shape (k,), for left and right exchanged, `MOTORS` or `MOVED`; None: unknown.
    bias
        Half width of an offset that stays constant for an episode; None: `bias` of the task times
        `noise`.
    terms
        Observation terms with the same numbers, one after the other, for `tarsus policy`; none if
        there are no such terms.
    """

    value: SX
    noise: float = 0.0
    mirror: Image | None = None
    bias: float | None = None
    terms: tuple[TermSource, ...] = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """Deviation from the goal of the task, zero at best, and its unit."""

    value: SX
    unit: str


@dataclass(frozen=True)
class TrainingDefaults:
    """Training settings of a task, for values that the user does not set.

    Attributes
    ----------
    law, terrain
        Names.
    dt
        Step size, in s; None: 0.004, or 0.002 where the servos would provide too little damping.
    methods, laws
        Settings that differ from those of a method or a law, by its name.
    """

    law: str = "moreau"
    terrain: str = "plane"
    dt: float | None = None
    methods: Mapping[str, Mapping[str, float | Range]] = field(default_factory=dict)
    laws: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LearningTask(ABC):
    """Learning task; implementations are frozen dataclasses.

    An action, shape (k,), shifts the targets of the joints that the task moves (`moved_motors`).
    They start from the standing posture plus the task's `reference_motion`; an action of 1 shifts a
    target by `action_scale`, times the factor `action_scale_factor`. From period to period the
    action moves a fraction `action_filter` of the way to the requested one.

    Each world draws its own random numbers: at the start of an episode the posture, the heading,
    friction, mass and the bias of the observations; from time to time a command and a push.
    """

    rate: float = parameter(50.0, "Hz", "actions per second", "(0, inf)")
    episode: float | None = parameter(20.0, "s", "duration of an episode", "(0, inf)")
    action_scale: float = parameter(
        0.3, "rad", "shift of a joint target for an action of 1", "(0, 100]"
    )
    command_interval: float = parameter(3.0, "s", "time between command changes", "(0, inf)")
    push: float | None = parameter(0.5, "m/s", "largest velocity change by a push", "[0, inf)")
    push_interval: float = parameter(5.0, "s", "time between pushes", "(0, inf)")
    friction: Range = parameter((0.5, 1.25), "[1]", "range of factors on friction", "[0, inf)")
    mass: Range = parameter((0.9, 1.1), "[1]", "range of factors on the base's inertia", "(0, inf)")
    start_offset: float = parameter(0.1, "rad", "largest initial joint offset", "[0, inf)")

    action_filter: float = parameter(
        1.0,
        "[1]",
        "action filter: fraction of the way to the requested action per period",
        "(0, 1]",
    )
    bias: float = parameter(
        0.0,
        "[1]",
        "bias of observations, constant in an episode, relative to their noise",
        "[0, inf)",
    )
    history: int = parameter(1, "[1]", "periods in an observation, the latest first", "[1, 100]")
    start_tilt: float = parameter(0.0, "rad", "largest initial tilt of the base", "[0, 3.15]")
    start_distance: float = parameter(
        0.0, "m", "largest initial distance from the origin along x and y", "[0, inf)"
    )
    levels: Range = parameter(
        (1.0, 1.0), "[1]", "factors on tilt and ground heights, from easy to hard", "[0, inf)"
    )

    def __post_init__(self) -> None:
        check(self)
        for f in fields(self):
            bounds = getattr(self, f.name)
            if str(f.type).startswith("Range") and bounds is not None and bounds[0] > bounds[1]:
                raise InvalidValue(
                    f"{name_of(self)}: {f.name} must be a range, lower limit first, not"
                    f" {bounds[0]:g},{bounds[1]:g}.",
                    f.name,
                )

    @property
    def has_levels(self) -> bool:
        """Whether the difficulty of a world grows with its success."""
        return self.levels != (1.0, 1.0)

    @property
    def randomizes_pose(self) -> bool:
        """Whether episodes start at random positions and poses, touching the ground."""
        return self.start_tilt > 0 or self.start_distance > 0 or self.has_levels

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return None, or one sentence that explains why this robot cannot perform the task."""
        return None if mechanism.floating else "its base has no free joint."

    def fit(self, robot: Robot) -> Self:
        """Take the open settings of the task from the robot; by default return it unchanged."""
        return self

    def prepare(self, robot: Robot) -> Robot:
        """Modify the robot as the task requires; by default return it unchanged."""
        return robot

    def training_defaults(self, mechanism: Mechanism) -> TrainingDefaults:
        """Return the training settings for this robot."""
        return TrainingDefaults()

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...] | None:
        """Return the default contact candidates; None: those of the robot."""
        return None

    def moved_motors(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return the indices of the motors that an action moves, shape (k,); the others hold still.

        By default an action moves all motors.
        """
        return tuple(range(len(mechanism.actuators)))

    def sensors(self, mechanism: Mechanism) -> Mapping[str, Sensor]:
        """Return the sensors that provide `StateView.sensed`, by name; none by default.

        Their noise belongs to the observations.
        """
        return {}

    def action_scale_factor(
        self, kin: Kinematics, heights: Heights, stand: NDArray[np.float64]
    ) -> SX | None:
        """Return a factor on `action_scale` at the start of a period; None, the default, means 1.

        Parameters
        ----------
        kin
            Kinematics of the robot.
        heights
            Function that returns the ground heights below points.
        stand
            Coordinates of the standing posture, shape (nq,).
        """
        return None

    def stiffness_factor(self) -> float:
        """Return a factor on the stiffness of the servos that an action moves; 1 by default."""
        return 1.0

    def progress(self, state: StateView) -> SX:
        """Rate the robot's success, 0 to 1; an episode's mean decides its next level."""
        return SX(0)

    @abstractmethod
    def commands(self) -> Mapping[str, Range]:
        """Return the ranges of the commands, by name, in SI units."""

    @abstractmethod
    def observations(self, state: StateView) -> Mapping[str, Observed]:
        """Compute the parts of an observation, in order, of magnitude one."""

    @abstractmethod
    def rewards(self, state: StateView) -> Mapping[str, SX]:
        """Compute the reward rates, per second, by name."""

    def reference_motion(self, mechanism: Mechanism, stand: NDArray[np.float64], clock: SX) -> SX:
        """Compute offsets of motor targets from `stand`, before any action, shape (n,), in rad.

        By default they are 0. `clock` is the time since the episode started, in s.
        """
        return SX.zeros(len(mechanism.actuators))

    def measures(self, state: StateView) -> Mapping[str, Measured]:
        """Compute the deviations from the goals of the task, by name; none by default."""
        return {}

    @abstractmethod
    def failed(self, state: StateView) -> SX:
        """Compute whether the episode ends as a failure, 0 or 1."""


def require_fitted(value: T | None) -> T:
    """Return a setting that `fit` has filled in; raise UnmetCondition if it is still open."""
    if value is None:
        raise UnmetCondition(
            "some settings of the task depend on the robot: call task.fit(robot) first.",
            "fit",
        )
    return value
