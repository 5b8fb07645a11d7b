"""The base class of tasks: observations, rewards and the end of an episode as expressions.

To add a task: one file in `tarsus/tasks` with one frozen dataclass that derives from
`LearningTask`; the file's name is the task's name. All of it is compiled with the steps of a
control period into one call for all worlds (`tarsus.environments`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Self, TypeVar

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
MOTORS = "motors"  # numbers that stand for the motors, in their order
MOVED = "moved"  # for those that an action moves
POLAR, AXIAL = (1.0, -1.0, 1.0), (-1.0, 1.0, -1.0)  # x, y, z of a direction, and of a turning


@dataclass(frozen=True, eq=False)
class Glimpse:
    """What a task may look at after a control period, as symbols.

    kin: the robot with its velocities
    angles, rates (n,): of the actuated joints, rad and rad/s
    torque (n,): of the motors in the period's last step, N m
    pressing: of each foot, 1 if the ground presses it in that step, else 0, by name
    action, before (k,): what the learner asked for now, and the period before
    command: by name
    clock: s since the episode began
    heights: of the ground above z = 0 (m) below points (3,) of the world
    stand (nq,): the coordinates to stand in
    sensed: readings (k,) of the task's sensors after the period's last step, by name
    """

    kin: Kinematics
    angles: SX
    rates: SX
    torque: SX
    pressing: Mapping[str, SX]
    action: SX
    before: SX
    command: Mapping[str, SX]
    clock: SX
    heights: Heights
    stand: NDArray[np.float64]
    sensed: Mapping[str, SX] = field(default_factory=dict)

    @property
    def posture(self) -> SX:
        """The actuated joints (n,) as they stand, rad."""
        mechanism = self.kin.mechanism
        bodies = [mechanism.joint_index(actuator.joint) for actuator in mechanism.actuators]
        return SX(ca.DM([self.stand[mechanism.q_slices[b].start] for b in bodies]))

    @property
    def rotation(self) -> SX:
        """The base's rotation (3, 3): its coordinates to the world's."""
        return self.kin.world_rotation[0]

    @property
    def height(self) -> SX:
        """Of the base above the ground below it, m."""
        origin = self.kin.world_position[0]
        return origin[2] - self.heights([origin])[0]

    @property
    def forwards(self) -> SX:
        """The base's heading (2,) seen from above, a unit vector."""
        ahead = self.rotation[:2, 0]
        return ahead / ca.sqrt(ca.fmax(ca.sumsqr(ahead), 1e-12))

    @property
    def velocity(self) -> SX:
        """Of the base (3,): along its heading, to the left, and upwards, m/s."""
        v, ahead = ca.mtimes(self.rotation, self.kin.velocity[0]), self.forwards
        left = ca.vertcat(-ahead[1], ahead[0])
        return ca.vertcat(ca.dot(ahead, v[:2]), ca.dot(left, v[:2]), v[2])

    @property
    def turning(self) -> SX:
        """Angular velocity of the base (3,) in its own axes, rad/s."""
        return self.kin.omega[0]

    @property
    def down(self) -> SX:
        """The direction of gravity (3,) in the base's axes."""
        return -self.rotation[2, :].T


@dataclass(frozen=True, eq=False)
class Observed:
    """Numbers (k,) of an observation.

    noise: how wide their uniform noise is to either side
    bias: how wide to either side an offset is that stays for an episode; None: the task's `bias`
        times the noise
    image: signs (k,) of what is seen when left and right are changed, `MOTORS` or `MOVED`; None:
        unknown
    """

    value: SX
    noise: float = 0.0
    image: Image | None = None
    bias: float | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """A number that tells how well it goes, zero at best, and its unit."""

    value: SX
    unit: str


@dataclass(frozen=True)
class Advice:
    """What a task is learned with unless the user asks for something else.

    law, terrain: names
    dt: s; None: 0.004, or 0.002 where servos would hardly damp
    methods, laws: settings that differ from those of a method or a law, by its name
    """

    law: str = "moreau"
    terrain: str = "plane"
    dt: float | None = None
    methods: Mapping[str, Mapping[str, float | Range]] = field(default_factory=dict)
    laws: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LearningTask(ABC):
    """A task; implementations are frozen dataclasses.

    The learner's action (k,) moves the targets of the joints that the task `moves` from the
    standing posture and what its `rhythm` adds to it, by `reach` for 1, times what it is `widened`
    by; it goes to the action asked for by `follow` a period.
    What is drawn at random is drawn anew for each world: at the start of an episode the posture,
    the base's heading, friction, mass and the offsets of what is seen, and from time to time a
    command and a push.
    """

    rate: float = parameter(50.0, "Hz", "how often the learner acts", "(0, inf)")
    episode: float | None = parameter(20.0, "s", "after which an episode is cut off", "(0, inf)")
    reach: float = parameter(0.3, "rad", "of a joint's target, for an action of 1", "(0, 100]")
    hold: float = parameter(3.0, "s", "after which a command changes", "(0, inf)")
    push: float | None = parameter(
        0.5, "m/s", "that pushes add to the velocity at most", "[0, inf)"
    )
    push_every: float = parameter(5.0, "s", "between two pushes", "(0, inf)")
    friction: Range = parameter((0.5, 1.25), "[1]", "factor on the law's friction", "[0, inf)")
    mass: Range = parameter((0.9, 1.1), "[1]", "factor on the base's mass and inertia", "(0, inf)")
    spread: float = parameter(0.1, "rad", "of the joints, as an episode begins", "[0, inf)")

    follow: float = parameter(
        1.0, "[1]", "of the way from the last action to the one asked for, a period", "(0, 1]"
    )
    bias: float = parameter(
        0.0, "[1]", "of the noise: how wide offsets are that stay for an episode", "[0, inf)"
    )
    history: int = parameter(
        1, "[1]", "periods that an observation is of, the last first", "[1, 100]"
    )
    tumble: float = parameter(
        0.0, "rad", "that the base is turned over at most, as an episode begins", "[0, 3.15]"
    )
    place: float = parameter(
        0.0, "m", "from the origin to where an episode begins, along x and y, at most", "[0, inf)"
    )
    levels: Range = parameter(
        (1.0, 1.0), "[1]", "factors on tumble and the ground's heights, easy to hard", "[0, inf)"
    )

    def __post_init__(self) -> None:
        check(self)
        for f in fields(self):
            given = getattr(self, f.name)
            if str(f.type).startswith("Range") and given is not None and given[0] > given[1]:
                raise InvalidValue(
                    f"{name_of(self)}: {f.name} must be a range with the lower number first, not"
                    f" {given[0]:g},{given[1]:g}.",
                    f.name,
                )

    @property
    def graded(self) -> bool:
        """Whether the ground of a world grows with what its robot can do, and how it is tumbled."""
        return self.levels != (1.0, 1.0)

    @property
    def scattered(self) -> bool:
        """Whether episodes begin at places and in poses that differ: the lowest point touches."""
        return self.tumble > 0 or self.place > 0 or self.graded

    def suits(self, mechanism: Mechanism) -> str | None:
        """None, or in one sentence why this robot cannot be asked to do it."""
        return None if mechanism.floating else "its base is fixed."

    def fitted(self, robot: Robot) -> Self:
        """The task as this robot can be asked to do it: what was left open is filled in; the same
        by default.
        """
        return self

    def prepared(self, robot: Robot) -> Robot:
        """The robot as the task needs it; the same by default."""
        return robot

    def advice(self, mechanism: Mechanism) -> Advice:
        """What it is learned with on this robot; nothing of its own by default."""
        return Advice()

    def contacts(self, mechanism: Mechanism) -> tuple[str, ...] | None:
        """Which candidates may touch the ground unless others are asked for; None: as usual."""
        return None

    def moves(self, mechanism: Mechanism) -> tuple[int, ...]:
        """The motors (k,) that an action moves, by number; the others hold. All by default."""
        return tuple(range(len(mechanism.actuators)))

    def sensors(self, mechanism: Mechanism) -> Mapping[str, Sensor]:
        """Sensors whose readings `Glimpse.sensed` has, by name; none by default. What noise they
        have stands where they are observed.
        """
        return {}

    def widened(self, kin: Kinematics, heights: Heights, stand: NDArray[np.float64]) -> SX | None:
        """Factor on `reach` as a period begins; None: 1, the default.

        kin: the robot; heights: of the ground below points; stand (nq,): the coordinates to stand
        in
        """
        return None

    def firmness(self) -> float:
        """Factor on the stiffness of the servos of what an action moves; 1 by default."""
        return 1.0

    def progress(self, now: Glimpse) -> SX:
        """How well it goes, 0 to 1: its mean over an episode says on what ground the next is."""
        return SX(0)

    @abstractmethod
    def commands(self) -> Mapping[str, Range]:
        """What is asked of the robot, by name: least and largest, SI units."""

    @abstractmethod
    def observations(self, now: Glimpse) -> Mapping[str, Observed]:
        """What the learner sees, in order, of magnitude one."""

    @abstractmethod
    def rewards(self, now: Glimpse) -> Mapping[str, SX]:
        """What it is paid a second, by name."""

    def rhythm(self, mechanism: Mechanism, stand: NDArray[np.float64], clock: SX) -> SX:
        """How the motors' targets (n,) move by themselves, rad off `stand` (nq,); 0 by default.

        clock: s since the episode began
        """
        return SX.zeros(len(mechanism.actuators))

    def measures(self, now: Glimpse) -> Mapping[str, Measured]:
        """By how much what was asked is missed, by name; nothing by default."""
        return {}

    @abstractmethod
    def failed(self, now: Glimpse) -> SX:
        """Whether the episode ends here as a failure."""


def known(value: T | None) -> T:
    """Return what was filled in; UnmetCondition where it was not."""
    if value is None:
        raise UnmetCondition(
            "the task takes some of its settings from the robot: call its fitted(robot) first.",
            "fitted",
        )
    return value
