"""Planner: repeatedly computes torques that pursue a goal from the state of a robot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.control import servo
from tarsus.control.pd import actuated_indices
from tarsus.control.servo import Gains
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnknownName, Unsupported, WarningRecord, unknown_name_error
from tarsus.morphology.feet import find_feet
from tarsus.planning import spline
from tarsus.planning.goals.base import Goal
from tarsus.planning.latency import Latency, PlanStatistics, latency
from tarsus.planning.leg_symmetries import leg_symmetries
from tarsus.planning.methods.base import Proposal, SamplingMethod
from tarsus.planning.rollout_program import RolloutPlan, reuse_plan
from tarsus.planning.rollouts import RolloutWorlds
from tarsus.planning.strides import strides
from tarsus.planning.timing import ROUND_OFF, PlanTiming
from tarsus.processes import usable_cores
from tarsus.simulation import default_controller, file_material, resolve, setup_warnings, time_steps
from tarsus.simulation.contact_selection import select_candidates
from tarsus.simulation.options import Options, complete
from tarsus.simulation.step_program import Plan
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
T = TypeVar("T")
# servo stiffness relative to that of gaits for this step: a mode has damping 0.8 and stiffness
# 0.64, and the midpoint step is stable for 0.32 < 0.8 < 2 (`control.servo`)
STIFFNESS_RATIO = 1.6
# rad per step: only faster joints take the expensive branch of a step, which took a third of the
# time; the costs of samples change by 1 %
FAST_ROTATION = 0.4
ACCEPTED = (  # options of a Simulation that a planner accepts
    *("contacts", "limits", "stiction", "bounce", "slots", "self_collision", "keyframe"),
    *("precision", "threads"),
)
GOALS, METHODS = "tarsus.planning.goals", "tarsus.planning.methods"


class PlannerOptions(Options, total=False):
    """Options of a `Simulation`, and those of a planner."""

    timing: PlanTiming
    seed: int
    gains: Gains


@dataclass(frozen=True, eq=False)
class _ActivePlan:
    """Plan that is active from a time, in s; `first` counts its first knot from time zero."""

    since: float
    first: int
    proposal: Proposal


class Planner:
    """Sampling-based model predictive control through contact, without a gait or derivatives.

    A planner is called with the state and returns torques, so it can be the controller of a
    `Simulation`. Once per period it rolls out samples around its last plan with its own model of
    the robot, all in one compiled call, and improves the plan with their costs. Between plans,
    joint servos track the joint targets of the plan, which are splines (Howell 2022). A call with
    an earlier time than the last one resets the planner.

    Parameters
    ----------
    goal : Goal or str
        Goal, or its name: "go", "stand" or "step_up".
    robot : Robot or str
        Robot of the planner's model, given as for a `Simulation`. The model may differ from the
        world in which the planner acts.
    method : SamplingMethod or str
        Sampling method, or its name: "mppi" or "cem".
    law : Law or str
        Contact law of the planner's model.
    terrain : Terrain or str, optional
        Terrain of the planner's model. Default: that of the goal, or a plane.
    dt : float
        Step size of the planner's model, in s.
    **options
        `timing` (`PlanTiming`), `seed` of all samples, and `gains` of the joint servos (default:
        computed from the robot and `dt`). Of the options of a `Simulation`: `contacts` (default:
        the feet), `limits` and `stiction` (default False), `bounce`, `slots`, `self_collision`,
        `keyframe`, `precision` (default "float32") and `threads` (default: all cores; the results
        do not depend on it).

    Attributes
    ----------
    weights : dict
        Weights of the costs, by name. They may be changed at any time.
    plans : list
        Statistics of each plan since the last reset.

    Raises
    ------
    UnknownName
        For an unknown name or option.
    Unsupported
        If the robot does not suit the goal.

    References
    ----------
    Howell et al. 2022, Predictive sampling: real-time behaviour synthesis with MuJoCo.

    Examples
    --------
    >>> import tarsus
    >>> planner = tarsus.Planner("go", threads=1)
    >>> planner.set_commands(speed=0.3)
    >>> simulation = tarsus.Simulation(planner.robot, controller=planner)
    >>> log = simulation.run(0.1)
    >>> len(planner.plans)
    5
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
        # resolve names to objects
        remaining: Any = dict(options)
        self.timing, self.seed = (
            remaining.pop("timing", None) or PlanTiming(),
            remaining.pop("seed", 0),
        )
        gains: Gains | None = remaining.pop("gains", None)
        self.goal: Goal = _resolve(GOALS, "goal", goal, Goal)
        self.method: SamplingMethod = _resolve(METHODS, "method", method, SamplingMethod)
        self.dt, self.warnings = time_steps.check_time_step(dt), list[WarningRecord]()
        requested = resolve.resolve_robot(robot)
        chosen = _complete_options(remaining, requested)
        requested = default_controller.start_at_keyframe(requested, chosen.keyframe)
        requested, _ = default_controller.prepare(requested, None, self.dt, self.warnings)
        self.law, self.robot = file_material.law_for_robot(law, requested, self.warnings)
        self.terrain = resolve.resolve_terrain(terrain or self.goal.ground() or "plane")
        if reason := self.goal.why_unsuitable(self.robot):
            raise Unsupported(
                f"{self.robot.name!r} is not suitable for this goal: {reason}", self.robot.name
            )
        # compile the rollouts
        stepper = resolve.resolve_stepper("midpoint")
        contacts = select_candidates(self.robot, chosen.contacts, self.warnings)
        scene = resolve.create_scene(
            self.robot, (self.law, self.terrain, stepper), contacts, chosen
        )
        stand = np.asarray(self.robot.keyframes["stand"], float)
        choices = Plan(scene, stepper, None), {"q": stand}, self.dt, chosen.self_collision
        self.warnings += setup_warnings.choice_warnings(*choices)
        servo_dt = self.dt / STIFFNESS_RATIO
        self.gains = gains or servo.size_gains(self.robot, stand, find_feet(self.robot), servo_dt)
        kind, count = self.timing.spline, self.timing.knots
        scene = replace(scene, fast_turn_angle=FAST_ROTATION)
        work = reuse_plan(
            RolloutPlan(self.goal.with_unit_weights(), scene, stepper, stand, kind, count)
        )
        bits = 32 if chosen.precision == "float32" else 64
        registers = self._registers(bits)
        self.rollouts = RolloutWorlds(work, self.method.samples, bits, chosen.threads, registers)
        # commands, and the initial plan
        self.weights, self._commands = self.goal.weights(), dict(self.goal.commands())
        self._at, self._rest = actuated_indices(self.robot), stand[actuated_indices(self.robot)[0]]
        self._range, self._symmetries = (
            _collect_joint_ranges(self.robot),
            leg_symmetries(self.robot),
        )
        alternation = self.goal.strides()
        self._strides = strides(alternation, self._symmetries, self.timing.spacing)
        if (self.method.paired_share or alternation[0]) and not self._symmetries:
            ignored = "paired_share" if self.method.paired_share else "alternating_share"
            text = f"{ignored} is ignored: {self.robot.name!r} has no symmetric pairs of legs."
            self.warnings.append(WarningRecord(text, "symmetry-ignored", self.robot.name))
        # warm up: create threads and tables before the first plan is needed
        self.reset()
        self.plan(0.0, stand, np.zeros(self.robot.nu))
        self.reset()

    def _registers(self, bits: int) -> dict[str, Array]:
        """Build the registers that are the same for all rollouts."""
        registers = {
            "dt": np.array([self.dt]),
            "advance": np.array([self.dt / self.timing.spacing]),
        }
        registers |= {name: np.array(getattr(self.gains, name)) for name in ("kp", "kd")}
        registers |= {f"law.{k}": v[..., None] for k, v in self.law.parameters().items()}
        registers |= {f"terrain.{k}": v for k, v in self.terrain.parameters().items()}
        registers |= setup_warnings.solver_tolerances(
            self.law, self.robot, self.dt, bits, self.warnings
        )
        self._horizon, self._delay = (self.timing.steps(n, self.dt) for n in ("horizon", "delay"))
        return registers

    def reset(self) -> None:
        """Discard the plan, and restart the random numbers of the seed."""
        shape = (self.timing.knots, len(self._rest))
        still = np.tile(self._rest, (shape[0], 1)), np.full(shape, self.method.noise)
        self._active = [_ActivePlan(-np.inf, 0, Proposal(*still))]
        self.plans = list[PlanStatistics]()
        self._last = self._due = -np.inf

    def set_commands(self, **commands: float) -> None:
        """Set commands of the goal.

        Parameters
        ----------
        **commands
            New values, by name, in SI units.

        Raises
        ------
        UnknownName
            For a command that the goal does not have.
        InvalidValue
            For a number that is not finite.
        """
        for name, value in commands.items():
            if name not in self._commands:
                raise unknown_name_error("command", name, self._commands)
            if not np.isfinite(value):
                raise InvalidValue(f"the command {name!r} must be finite, not {value!r}.", name)
            self._commands[name] = float(value)

    @property
    def commands(self) -> dict[str, float]:
        """Commands of the goal, by name."""
        return dict(self._commands)

    def __call__(self, t: float, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the torques; plan first if a period has passed.

        Parameters
        ----------
        t
            Time, in s.
        q
            Coordinates, shape (nq,).
        u
            Velocities, shape (nu,).

        Returns
        -------
        numpy.ndarray
            Torques before the torque limits, shape (motors,), in N m.
        """
        q, u = np.asarray(q, float), np.asarray(u, float)
        slack = ROUND_OFF * self.timing.period
        if t < self._last - slack:
            self.reset()
        self._last = t
        if t >= self._due - slack:
            self._due = (t if self._due == -np.inf else self._due) + self.timing.period
            self.plan(t, q, u)
        target = self.targets(t)
        kp, kd = (np.asarray(gain) for gain in (self.gains.kp, self.gains.kd))
        return kp * (target - q[self._at[0]]) - kd * u[self._at[1]]

    def targets(self, t: float) -> Array:
        """Evaluate the joint targets of the active plan at a time in s, shape (n,), in rad."""
        while len(self._active) > 1 and self._active[1].since <= t + ROUND_OFF * self.dt:
            self._active.pop(0)
        active = self._active[0]
        return spline.evaluate(
            self.timing.spline, active.proposal.mean, t / self.timing.spacing - active.first
        )

    def plan(self, t: float, q: Array, u: Array) -> PlanStatistics:
        """Improve the plan from the state at a time; it takes effect after the delay.

        Parameters
        ----------
        t
            Time, in s.
        q
            Coordinates, shape (nq,).
        u
            Velocities, shape (nu,).

        Returns
        -------
        PlanStatistics
            Timing and cost of the plan.
        """
        wall_start, cpu_start = perf_counter(), process_time()
        self.targets(t)  # drops expired plans
        state, begin = self._predict(t, (q, u)), t + self._delay * self.dt
        first = self._first_knot(begin)
        proposal = self._shift(self._active[-1], first)
        now = self._rollout_registers(begin, first, self._horizon)
        statistics: list[tuple[float, float, float]] = []
        weights = np.array(list(self.weights.values()))

        def costs(knots: Array) -> Array:
            # keep targets within the joint ranges
            np.clip(knots, *self._range, out=knots)
            results = self.rollouts.roll_out(state, knots, now)
            totals = results.costs @ weights
            diverging = ~np.isfinite(totals)
            totals[diverging] = np.inf
            statistics.append(
                (totals.min(), results.unconverged.mean() / self._horizon, diverging.mean())
            )
            return totals

        random = np.random.default_rng([self.seed, len(self.plans)])
        better = self.method.improve(proposal, costs, random)
        self._active.append(_ActivePlan(begin, first, better))
        if not self._delay:
            self._active.pop(0)
        cost, unconverged, diverged = np.array(statistics).T
        self.plans.append(
            PlanStatistics(
                *(t, perf_counter() - wall_start, process_time() - cpu_start, float(cost[-1])),
                *(better.effective, float(unconverged.mean()), float(diverged.mean())),
            )
        )
        return self.plans[-1]

    def latency(self) -> Latency:
        """Summarize the timing of all plans since the last reset."""
        return latency(self.plans, self.timing.deadline)

    def _rollout_registers(self, t: float, first: int, steps: int) -> dict[str, Array]:
        """Build the registers of rollouts that start at time t."""
        numbers = {"position": t / self.timing.spacing - first, "steps": steps}
        registers = {name: np.array([float(number)]) for name, number in numbers.items()}
        return registers | {"command": np.array(list(self._commands.values()))}

    def _predict(self, t: float, state: tuple[Array, Array]) -> tuple[Array, Array]:
        """Predict the state at which the next plan takes effect, with the active plan."""
        if not self._delay:
            return state
        active = self._active[-1]
        now = self._rollout_registers(t, active.first, self._delay)
        return self.rollouts.predict(state, active.proposal.mean, now)

    def _first_knot(self, t: float) -> int:
        """Find the index of the first knot that the spline needs at time t."""
        return int(np.floor(t / self.timing.spacing + ROUND_OFF)) - self.timing.past_knots

    def _shift(self, active: _ActivePlan, first: int) -> Proposal:
        """Shift a plan so that it starts at knot `first`.

        New knots repeat the last one, or continue the alternation of strides.
        """
        count, shift = self.timing.knots, max(first - active.first, 0)
        indices = np.minimum(np.arange(count) + shift, count - 1)
        spread = self.method.initial_spread(active.proposal.spread[indices])
        spread[count - min(shift, count) :] = self.method.noise
        spread[: self.timing.past_knots] = 0  # past knots only shape the spline now
        mean = active.proposal.mean[indices]
        if self._strides is not None:
            self._strides.extend(mean, min(shift, count), self._rest)
        return Proposal(mean, spread, 0.0, self._symmetries, self._strides)


def _complete_options(options: dict[str, Any], robot: Robot) -> Any:
    """Complete the options of the planner's simulation.

    Raises
    ------
    UnknownName
        For options that a planner does not accept.
    """
    defaults: Any = {"precision": "float32", "stiction": False, "limits": False}
    defaults |= {"contacts": [foot.name for foot in find_feet(robot)], "threads": usable_cores()}
    chosen = complete(defaults | options)
    if rejected := sorted(options.keys() - ACCEPTED):
        raise UnknownName(
            f"a planner does not accept {', '.join(rejected)}; of Simulation's options it accepts"
            f" {', '.join(ACCEPTED)}.",
            rejected[0],
        )
    return chosen


def _collect_joint_ranges(robot: Robot) -> tuple[Array, Array]:
    """Collect the lower and upper limits of the motors' joints, shape (n,) each."""
    bodies = [robot.bodies[robot.joint_index(motor.joint)] for motor in robot.actuators]
    ends = [(body.joint.lower, body.joint.upper) for body in bodies]
    low, high = np.array(ends).T
    return low, high


def _resolve(package: str, kind: str, value: Any, family: type[T]) -> T:
    """Resolve a goal or method given as an object, by name, or as a user's file (.py)."""
    if isinstance(value, family):
        return value
    return registry.create(package, kind, str(value), family)
