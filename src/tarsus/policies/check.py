"""What a policy depends on: the same trials under every contact law and in MuJoCo.

Trials differ in their start (joints, velocity) and in pushes, drawn from the seed, the same for all
engines. Survival comes with 95 % intervals (Wilson 1927), and with how well the command is tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.algebra.intervals import wilson
from tarsus.errors import TarsusError
from tarsus.mujoco_runs.settings import ENGINE, SHOWN, named
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.rollout import rollout
from tarsus.policies.worlds import FRICTION, Conditions, PolicyEngine

Array = NDArray[np.float64]
JOINTS = 0.05  # rad: standard deviation of the joints at the start
SPEED = 0.2  # m/s, rad/s: standard deviation of the base's velocity at the start


@dataclass(frozen=True)
class Survival:
    """How many of how many trials did not fall, with a 95 % interval of the share."""

    stood: int
    trials: int

    @property
    def share(self) -> float:
        """Part of the trials."""
        return self.stood / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval."""
        return wilson(self.stood, self.trials)


@dataclass(frozen=True)
class EngineResult:
    """What came of the trials in one engine."""

    engine: str
    dt: float
    survival: Survival | None = None
    missed: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    first_fall: float = np.inf
    unconverged: float = 0.0
    failure: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the row for JSON."""
        found = asdict(self)
        if self.survival is not None:
            low, high = self.survival.interval
            found["survival"] |= {"share": self.survival.share, "low": low, "high": high}
        return found


def engines(names: Sequence[str]) -> dict[str, PolicyEngine]:
    """Return engines by name: laws of Tarsus, and MuJoCo at its defaults and tuned."""
    found: dict[str, PolicyEngine] = {}
    for name in names:
        if name == ENGINE:
            found |= {f"{ENGINE} {kind}": PolicyEngine("", named(kind)) for kind in SHOWN}
        else:
            found[name] = PolicyEngine(name)
    return found


def drawn(policy: BoundPolicy, trials: int, seed: int) -> tuple[Conditions, Array]:
    """Return trials, and changes of the base's velocity (trials, 2) that they begin with, m/s."""
    rng, alike = np.random.default_rng(seed), Conditions.alike(policy, trials)
    q = np.array(alike.q)
    q[:, policy.q_places] += rng.normal(0, JOINTS, (trials, policy.count))
    return replace(alike, q=q), rng.normal(0, SPEED, (trials, 2))


def survival_everywhere(
    policy: BoundPolicy,
    where: dict[str, PolicyEngine],
    command: Array,
    *,
    dt: float,
    trials: int,
    seconds: float,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> list[EngineResult]:
    """Run the same trials in every engine.

    Parameters
    ----------
    policy : BoundPolicy
        What is tried.
    where : dict
        Engines by name.
    command : ndarray
        Velocity asked for (3,).
    dt : float
        Length of a step, s.
    trials : int
        How many.
    seconds : float
        How long each lasts, s.
    seed : int
        Of what is drawn.
    say : callable
        Told what is done.
    """
    conditions, begin = drawn(policy, trials, seed)
    asked = np.tile(np.asarray(command, float), (trials, 1))
    rows = []
    for name, engine in where.items():
        say(name)
        try:
            worlds = engine.worlds(policy, conditions, dt, precision="float32")
            done = rollout(policy, worlds, asked, seconds, pushes={0.0: begin})
        except TarsusError as error:
            rows.append(EngineResult(name, dt, failure=str(error)))
            continue
        missed = np.full(3, np.nan)
        errors = done.tracking_error()
        if np.isfinite(errors).any():
            missed = np.nanmedian(errors, axis=0)
        rows.append(
            EngineResult(
                name,
                dt,
                Survival(int(done.survived.sum()), trials),
                (float(missed[0]), float(missed[1]), float(missed[2])),
                float(done.fell.min()),
                done.unconverged,
            )
        )
    return rows


@dataclass(frozen=True)
class VariedFactor:
    """What is varied alone.

    Parameters
    ----------
    easy, hard : float
        Ends of the search; the policy is taken to stand at the first.
    unit : str
        Of the values.
    """

    easy: float
    hard: float
    unit: str


FACTORS = {
    "friction": VariedFactor(FRICTION, 0.0, "[1]"),
    "push": VariedFactor(0.0, 10.0, "m/s"),
    "delay": VariedFactor(0.0, 0.1, "s"),
    "weaker gains": VariedFactor(1.0, 0.0, "[1]"),
    "stiffer gains": VariedFactor(1.0, 16.0, "[1]"),
    "added mass": VariedFactor(0.0, 3.0, "of the robot's mass"),
    "noise": VariedFactor(0.0, 2.0, "[1] of what the network sees"),
}
ROUNDS = 6  # of bisection
PUSH_AT = 2.0  # s


@dataclass(frozen=True)
class Margin:
    """How far a factor may go until half of the trials fall.

    low and high: the last value at which most stood, the first at which most fell
    """

    factor: str
    unit: str
    low: float
    high: float
    falls: bool

    @property
    def value(self) -> float:
        """Between both."""
        return 0.5 * (self.low + self.high) if self.falls else self.high

    def plain(self) -> dict[str, Any]:
        """Return the margin for JSON."""
        return asdict(self) | {"value": self.value}


def margin(
    policy: BoundPolicy,
    engine: PolicyEngine,
    factor: str,
    command: Array,
    *,
    dt: float,
    trials: int,
    seconds: float,
    seed: int = 0,
) -> Margin:
    """Find by bisection where half of the trials fall."""
    varied = FACTORS[factor]
    asked = np.tile(np.asarray(command, float), (trials, 1))

    def stands(value: float) -> bool:
        conditions, begin = drawn(policy, trials, seed)
        noise, pushes = 0.0, {0.0: begin}
        if factor == "friction":
            conditions = replace(conditions, friction=np.full(trials, value))
        elif factor == "delay":
            conditions = replace(conditions, delay=np.full(trials, value))
        elif factor in ("weaker gains", "stiffer gains"):
            conditions = replace(conditions, gains=np.full(trials, value))
        elif factor == "added mass":
            conditions = replace(conditions, mass=np.full(trials, value * policy.robot.mass))
        elif factor == "noise":
            noise = value
        elif factor == "push":
            turned = np.random.default_rng(seed).uniform(0, 2 * np.pi, trials)
            pushes[PUSH_AT] = value * np.stack([np.cos(turned), np.sin(turned)], 1)
        worlds = engine.worlds(policy, conditions, dt, precision="float32")
        done = rollout(policy, worlds, asked, seconds, noise=noise, seed=seed, pushes=pushes)
        return 2 * int(done.survived.sum()) > trials

    low, high = varied.easy, varied.hard
    if stands(high):
        return Margin(factor, varied.unit, high, high, False)
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stands(middle) else (low, middle)
    return Margin(factor, varied.unit, low, high, True)
