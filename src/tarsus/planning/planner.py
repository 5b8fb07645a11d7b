"""A planner: from the state of a robot, again and again, to torques towards a goal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.control import servo
from tarsus.control.pd import actuated
from tarsus.control.servo import Gains
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnknownName, Unsupported, WarningRecord, unknown_name
from tarsus.morphology.feet import feet
from tarsus.planning import spline
from tarsus.planning.goals.base import Goal
from tarsus.planning.latency import Latency, Planned, latency
from tarsus.planning.methods.base import Proposal, SamplingMethod
from tarsus.planning.pace import NEARLY, Pace
from tarsus.planning.pairings import pairings
from tarsus.planning.rollout_program import RolloutPlan, shared
from tarsus.planning.rollouts import Futures
from tarsus.planning.strides import strides
from tarsus.processes import usable_cores
from tarsus.simulation import default_controller, file_material, resolve, setup_warnings, time_steps
from tarsus.simulation.contact_selection import select_candidates
from tarsus.simulation.options import Options, complete
from tarsus.simulation.step_program import Plan
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
T = TypeVar("T")
# than gaits' servos for this step: damping of 0.8 and stiffness of 0.64 of a mode, where the
# midpoint's step is stable for 0.32 < 0.8 < 2 (`control.servo`)
STIFFER = 1.6
FAST = 0.4  # rad: only where joints turn farther does a plan's step take the longer way, which took
# a third of the time; by it costs of samples differ by a hundredth
TAKEN = (  # of a Simulation's options
    *("contacts", "limits", "stiction", "bounce", "slots", "self_collision", "keyframe"),
    *("precision", "threads"),
)
GOALS, METHODS = "tarsus.planning.goals", "tarsus.planning.methods"


class PlannerOptions(Options, total=False):
    """Those of a Simulation, and a planner's own."""

    pace: Pace
    seed: int
    gains: Gains


@dataclass(frozen=True, eq=False)
class _Held:
    """A plan in force since a time, s; `first`: the number of its first knot, from time zero on."""

    since: float
    first: int
    proposal: Proposal


class Planner:
    """Model predictive control by sampling, through contact, without gait or derivatives.

    `planner(t, q, u)` answers with torques: it is the controller of a `Simulation`. Every period it
    looks at the state, rolls out samples around its last plan with a robot of its own, all in one
    compiled call, and improves the plan by what they cost. In between, servos follow the plan's
    joint targets, which are splines (Howell 2022).

    goal: a name (go, stand, step_up) or a Goal; method: a name (mppi, cem) or a SamplingMethod
    robot, law, terrain, dt: of the plan's own simulation, as a Simulation takes them; the world it
        acts in may have others. terrain None: the goal's own, else a plane
    options: as a Simulation takes them, of them contacts (here the feet's), limits and stiction
        (here False), bounce, slots, self_collision, keyframe, precision (here "float32") and
        threads (here all cores, which changes no bit)
    pace: when it plans and how far ahead; seed: of all samples
    gains: of the joints' servos; by default they suit the robot and dt
    `planner.ask(speed=0.3)` asks for something else from then on; `planner.weights` are those of
    the costs, by name. A time before the last one begins anew.
    """

    def __init__(
        self,
        goal: Goal | str = "stand",
        robot: Robot | str = "mini_cheetah",
        method: SamplingMethod | str = "mppi",
        law: Law | str = "moreau",
        terrain: Terrain | str | None = None,
        dt: float = 0.01,
        **options: Unpack[PlannerOptions],
    ) -> None:
        # names become objects
        own: Any = dict(options)
        self.pace, self.seed = own.pop("pace", None) or Pace(), own.pop("seed", 0)
        gains: Gains | None = own.pop("gains", None)
        self.goal: Goal = _resolved(GOALS, "goal", goal, Goal)
        self.method: SamplingMethod = _resolved(METHODS, "method", method, SamplingMethod)
        self.dt, self.warnings = time_steps.check_time_step(dt), list[WarningRecord]()
        asked = resolve.robot(robot)
        chosen = _completed(own, asked)
        asked = default_controller.start_at_keyframe(asked, chosen.keyframe)
        asked, _ = default_controller.prepare(asked, None, self.dt, self.warnings)
        self.law, self.robot = file_material.law_for_robot(law, asked, self.warnings)
        self.terrain = resolve.terrain(terrain or self.goal.ground() or "plane")
        if reason := self.goal.suits(self.robot):
            raise Unsupported(
                f"{self.robot.name!r} is not suitable for this goal: {reason}", self.robot.name
            )
        # what is compiled
        stepper = resolve.stepper("midpoint")
        touching = select_candidates(self.robot, chosen.contacts, self.warnings)
        scene = resolve.scene(self.robot, (self.law, self.terrain, stepper), touching, chosen)
        stand = np.asarray(self.robot.keyframes["stand"], float)
        chosen_so = Plan(scene, stepper, None), {"q": stand}, self.dt, chosen.self_collision
        self.warnings += setup_warnings.choice_warnings(*chosen_so)
        held = self.dt / STIFFER
        self.gains = gains or servo.gains(self.robot, stand, feet(self.robot), held)
        kind, count = self.pace.spline, self.pace.knots
        scene = replace(scene, fast=FAST)
        work = shared(RolloutPlan(self.goal.unweighted(), scene, stepper, stand, kind, count))
        bits = 32 if chosen.precision == "float32" else 64
        registers = self._registers(bits)
        self.rollouts = Futures(work, self.method.samples, bits, chosen.threads, registers)
        # what is asked, and where it begins
        self.weights, self._asked = self.goal.weights(), dict(self.goal.commands())
        self._at, self._rest = actuated(self.robot), stand[actuated(self.robot)[0]]
        self._range, self._pairings = _range_of(self.robot), pairings(self.robot)
        asked = self.goal.strides()
        self._strides = strides(asked, self._pairings, self.pace.spacing)
        if (self.method.paired or asked[0]) and not self._pairings:
            ignored = "paired" if self.method.paired else "alternating"
            text = f"{ignored} is ignored: {self.robot.name!r} has no pairs of legs."
            self.warnings.append(WarningRecord(text, "symmetry-ignored", self.robot.name))
        # a plan that nobody waits for: threads and tables are there when the first is asked for
        self.reset()
        self.plan(0.0, stand, np.zeros(self.robot.nu))
        self.reset()

    def _registers(self, bits: int) -> dict[str, Array]:
        """What is the same for all rollouts."""
        found = {"dt": np.array([self.dt]), "advance": np.array([self.dt / self.pace.spacing])}
        found |= {name: np.array(getattr(self.gains, name)) for name in ("kp", "kd")}
        found |= {f"law.{k}": v[..., None] for k, v in self.law.parameters().items()}
        found |= {f"terrain.{k}": v for k, v in self.terrain.parameters().items()}
        found |= setup_warnings.solver_tolerances(
            self.law, self.robot, self.dt, bits, self.warnings
        )
        self._horizon, self._delay = (self.pace.steps(n, self.dt) for n in ("horizon", "delay"))
        return found

    def reset(self) -> None:
        """Begin anew: no plan, and the first draws of the seed."""
        shape = (self.pace.knots, len(self._rest))
        still = np.tile(self._rest, (shape[0], 1)), np.full(shape, self.method.noise)
        self._held, self.plans = [_Held(-np.inf, 0, Proposal(*still))], list[Planned]()
        self._last = self._due = -np.inf

    def ask(self, **commands: float) -> None:
        """What is asked from now on, by name, SI units; TarsusError for another name."""
        for name, given in commands.items():
            if name not in self._asked:
                raise unknown_name("command", name, self._asked)
            if not np.isfinite(given):
                raise InvalidValue(f"the command {name!r} must be finite, not {given!r}.", name)
            self._asked[name] = float(given)

    @property
    def asked(self) -> dict[str, float]:
        """What is asked, by name."""
        return dict(self._asked)

    def __call__(self, t: float, q: ArrayLike, u: ArrayLike) -> Array:
        """Torques (motors,), N m, not limited yet, at a time t, s, coordinates q and velocities u.

        It plans when a period is over since it did.
        """
        q, u = np.asarray(q, float), np.asarray(u, float)
        slack = NEARLY * self.pace.period
        if t < self._last - slack:
            self.reset()
        self._last = t
        if t >= self._due - slack:
            self._due = (t if self._due == -np.inf else self._due) + self.pace.period
            self.plan(t, q, u)
        target = self.targets(t)
        kp, kd = (np.asarray(gain) for gain in (self.gains.kp, self.gains.kd))
        return kp * (target - q[self._at[0]]) - kd * u[self._at[1]]

    def targets(self, t: float) -> Array:
        """Of the motors (n,), rad, by the plan in force at a time, s."""
        while len(self._held) > 1 and self._held[1].since <= t + NEARLY * self.dt:
            self._held.pop(0)
        held = self._held[0]
        return spline.value(
            self.pace.spline, held.proposal.mean, t / self.pace.spacing - held.first
        )

    def plan(self, t: float, q: Array, u: Array) -> Planned:
        """Improve the plan from the state at a time; it is in force `delay` later."""
        began, worked = perf_counter(), process_time()
        self.targets(t)  # lets go of what is over
        state, begin = self._ahead(t, (q, u)), t + self._delay * self.dt
        first = self._first(begin)
        proposal = self._shifted(self._held[-1], first)
        now = self._now(begin, first, self._horizon)
        told: list[tuple[float, float, float]] = []
        weights = np.array(list(self.weights.values()))

        def costs(knots: Array) -> Array:
            # out of a joint's range no target goes
            np.clip(knots, *self._range, out=knots)
            tried = self.rollouts.try_all(state, knots, now)
            found = tried.costs @ weights
            wild = ~np.isfinite(found)
            found[wild] = np.inf
            told.append((found.min(), tried.unconverged.mean() / self._horizon, wild.mean()))
            return found

        random = np.random.default_rng([self.seed, len(self.plans)])
        better = self.method.improved(proposal, costs, random)
        self._held.append(_Held(begin, first, better))
        if not self._delay:
            self._held.pop(0)
        cost, unconverged, diverged = np.array(told).T
        self.plans.append(
            Planned(
                *(t, perf_counter() - began, process_time() - worked, float(cost[-1])),
                *(better.effective, float(unconverged.mean()), float(diverged.mean())),
            )
        )
        return self.plans[-1]

    def latency(self) -> Latency:
        """Of all plans since it began."""
        return latency(self.plans, self.pace.deadline)

    def _now(self, t: float, first: int, steps: int) -> dict[str, Array]:
        """Registers of rollouts that begin at t."""
        numbers = {"position": t / self.pace.spacing - first, "steps": steps}
        found = {name: np.array([float(number)]) for name, number in numbers.items()}
        return found | {"command": np.array(list(self._asked.values()))}

    def _ahead(self, t: float, state: tuple[Array, Array]) -> tuple[Array, Array]:
        """Where the robot will be when another plan takes over: by the plan in force."""
        if not self._delay:
            return state
        held = self._held[-1]
        now = self._now(t, held.first, self._delay)
        return self.rollouts.ahead(state, held.proposal.mean, now)

    def _first(self, t: float) -> int:
        """The number of the first knot that the spline at t needs."""
        return int(np.floor(t / self.pace.spacing + NEARLY)) - self.pace.before

    def _shifted(self, held: _Held, first: int) -> Proposal:
        """The plan from another first knot on; knots that are new go on as the last did, or in
        stride.
        """
        count, gone = self.pace.knots, max(first - held.first, 0)
        at = np.minimum(np.arange(count) + gone, count - 1)
        spread = self.method.renewed(held.proposal.spread[at])
        spread[count - min(gone, count) :] = self.method.noise
        spread[: self.pace.before] = 0  # it is past, and shapes the present alone
        mean = held.proposal.mean[at]
        if self._strides is not None:
            self._strides.go_on(mean, min(gone, count), self._rest)
        return Proposal(mean, spread, 0.0, self._pairings, self._strides)


def _completed(given: dict[str, Any], robot: Robot) -> Any:
    """The options of a Simulation as a plan has them; TarsusError for those that it cannot have."""
    usual: Any = {"precision": "float32", "stiction": False, "limits": False}
    usual |= {"contacts": [foot.name for foot in feet(robot)], "threads": usable_cores()}
    chosen = complete(usual | given)
    if others := sorted(given.keys() - TAKEN):
        raise UnknownName(
            f"a planner does not accept {', '.join(others)}: of the options of Simulation it takes"
            f" {', '.join(TAKEN)}.",
            others[0],
        )
    return chosen


def _range_of(robot: Robot) -> tuple[Array, Array]:
    """Least and largest angles (n,) of the motors' joints."""
    bodies = [robot.bodies[robot.joint_index(motor.joint)] for motor in robot.actuators]
    ends = [(body.joint.lower, body.joint.upper) for body in bodies]
    low, high = np.array(ends).T
    return low, high


def _resolved(package: str, kind: str, given: Any, family: type[T]) -> T:
    """A goal or a method by name, from a user's file (.py), or as it is."""
    if isinstance(given, family):
        return given
    return registry.create(package, kind, str(given), family)
