"""Find the setting that explains why a policy falls in one engine and stands in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.errors import TarsusError
from tarsus.mujoco_runs.settings import RECOMMENDED
from tarsus.parameters import declared_fields
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.survival import EngineResult, Survival
from tarsus.policies.trials import TrialPlan, draw_trials, run
from tarsus.policies.worlds import PolicyEngine
from tarsus.simulation.part_parameters import set_parameters

RATIOS = {"stiffness": (1 / 16, 1 / 4, 4.0, 16.0), "damping": (1 / 16, 1 / 4, 4.0, 16.0)}
OTHER_RATIOS = (1 / 4, 4.0)
UNCHANGED_ROLES = ("friction", "relative_tolerance", "absolute_tolerance", "weight")
STEP_RATIOS = (1 / 2, 1 / 4)


@dataclass(frozen=True)
class VariantResult:
    """Survival in an engine with one setting changed."""

    change: str
    survival: Survival


@dataclass(frozen=True)
class Separation:
    """Effect of single settings in the engine with the lowest survival.

    Parameters
    ----------
    standing, falling : str
        Engines with the highest and the lowest survival.
    reference, unchanged : Survival
        Survival in `standing`, and in `falling` without a change.
    variants : tuple of VariantResult
        Survival in `falling` with one setting changed, the highest first.
    """

    standing: str
    falling: str
    reference: Survival
    unchanged: Survival
    variants: tuple[VariantResult, ...]

    @property
    def explaining_variants(self) -> tuple[VariantResult, ...]:
        """Changes that close at least half of the gap in survival, beyond the 95 % interval."""
        half = 0.5 * (self.reference.share + self.unchanged.share)
        return tuple(
            v
            for v in self.variants
            if v.survival.share >= half and v.survival.interval[0] > self.unchanged.share
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert the separation to JSON values."""
        return asdict(self) | {"explaining": [v.change for v in self.explaining_variants]}


def best_and_worst(rows: Sequence[EngineResult]) -> tuple[EngineResult, EngineResult] | None:
    """Find the engines with the highest and lowest survival, if their intervals are disjoint."""
    ran = [row for row in rows if row.survival is not None]
    if not ran:
        return None
    best, worst = (pick(ran, key=lambda row: row.share) for pick in (max, min))
    assert best.survival is not None and worst.survival is not None
    return (best, worst) if worst.survival.interval[1] < best.survival.interval[0] else None


def combine_results(
    pair: tuple[EngineResult, EngineResult], results: Sequence[VariantResult | None]
) -> Separation:
    """Combine the survival in two engines and in the variants of the second.

    Parameters
    ----------
    pair : tuple of EngineResult
        Result of `best_and_worst`.
    results : sequence of VariantResult or None
        Results of `run_variant`.
    """
    best, worst = pair
    assert best.survival is not None and worst.survival is not None
    ran = [result for result in results if result is not None]
    ran.sort(key=lambda result: -result.survival.share)
    return Separation(best.engine, worst.engine, best.survival, worst.survival, tuple(ran))


def run_variant(
    policy: BoundPolicy, change: str, engine: PolicyEngine, plan: TrialPlan
) -> VariantResult | None:
    """Run the trials of a plan in an engine with one setting changed.

    Returns
    -------
    VariantResult or None
        None if the engine does not accept the setting's value.
    """
    try:
        return VariantResult(
            change, Survival.of(run(policy, engine, draw_trials(policy, plan), plan))
        )
    except TarsusError:
        return None


def variants(engine: PolicyEngine, plan: TrialPlan) -> list[tuple[str, PolicyEngine, TrialPlan]]:
    """List all changes of one setting: description, engine and plan."""
    plans = [replace(plan, dt=ratio * plan.dt) for ratio in STEP_RATIOS]
    steps = [(f"dt {shorter.dt:g} s", engine, shorter) for shorter in plans]
    return [(text, changed, plan) for text, changed in _list_settings(engine)] + steps


def _list_settings(engine: PolicyEngine) -> list[tuple[str, PolicyEngine]]:
    """List engines with one parameter of the law, or one setting of MuJoCo, changed."""
    return _parameters(engine) if engine.law else _mujoco_settings(engine)


def _mujoco_settings(engine: PolicyEngine) -> list[tuple[str, PolicyEngine]]:
    changed = []
    for name in (f.name for f in fields(RECOMMENDED) if f.name != "mu"):
        value = getattr(RECOMMENDED, name)
        if value != getattr(engine.settings, name):
            settings = replace(engine.settings, **{name: value})
            changed.append((f"{name} as tuned", replace(engine, settings=settings)))
    return changed


def _parameters(engine: PolicyEngine) -> list[tuple[str, PolicyEngine]]:
    law = registry.create("tarsus.contact.laws", "law", engine.law, Law)
    law = set_parameters({"law": law}, engine.parameters)["law"]
    changed = []
    for name, parameter in declared_fields(type(law)).items():
        value = getattr(law, name)
        if parameter.choices:
            for word in parameter.choices:
                if word != value:
                    changed.append((f"{name} {word}", engine.with_parameter(name, word)))
        elif parameter.role not in UNCHANGED_ROLES and isinstance(value, float) and value:
            for ratio in RATIOS.get(parameter.role, OTHER_RATIOS):
                unit = "" if parameter.unit == "[1]" else f" {parameter.unit}"
                times = f"{ratio:g} times" if ratio > 1 else f"1/{1 / ratio:g} of"
                text = f"{name} {ratio * value:.3g}{unit} ({times} the default)"
                changed.append((text, engine.with_parameter(name, repr(float(ratio * value)))))
    return changed
