"""Read the deployment YAML of legged_gym and unitree_rl_gym: gains, scales, default angles, sizes.

The file does not list the observation terms. Their total size determines whether they include
linear velocity and a gait phase (sine and cosine). Joints have the order of the robot's actuators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarsus.errors import InvalidFile, Unsupported
from tarsus.policies.contract import ASSUMED, Contract, Term
from tarsus.policies.importers.base import Importer, number_list

PERIOD = 0.8  # s: gait period in unitree_rl_gym


class LeggedGym(Importer):
    """Importer of legged_gym's deployment files."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return "kps" in data and "default_angles" in data and "num_obs" in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        n, size = (_count(name, data.get(name)) for name in ("num_actions", "num_obs"))
        values: dict[str, Any] = {"joints": tuple(range(n))}
        for name, key in (
            ("kp", "kps"),
            ("kd", "kds"),
            ("positions", "default_angles"),
            ("scale", "action_scale"),
        ):
            if key in data:
                values[name] = number_list(key, data[key])
        if "simulation_dt" in data and "control_decimation" in data:
            step, every = (_number(k, data[k]) for k in ("simulation_dt", "control_decimation"))
            if not step * every > 0:
                raise InvalidFile("simulation_dt and control_decimation must be positive.", "rate")
            values["rate"] = round(1 / (step * every), 9)
        filled = contract.with_values(source, **values)
        named = {"terms": _terms(data, n, size)}
        return filled.with_values(f"{ASSUMED} from the sizes in {source}", **named)


def _terms(data: Mapping[str, Any], n: int, size: int) -> tuple[Term, ...]:
    def scaled(name: str, key: str, default: float = 1.0) -> Term:
        return Term(name, number_list(key, data.get(key, default)))

    rest = size - 9 - 3 * n
    terms = [
        scaled("base_ang_vel", "ang_vel_scale"),
        Term("projected_gravity"),
        scaled("command", "cmd_scale"),
        scaled("joint_pos_rel", "dof_pos_scale"),
        scaled("joint_vel", "dof_vel_scale"),
        Term("last_action"),
    ]
    if rest in (3, 5):
        terms.insert(0, scaled("base_lin_vel", "lin_vel_scale", 2.0))
    if rest in (2, 5):
        terms += [Term(name, options={"period": PERIOD}) for name in ("sin_phase", "cos_phase")]
    if rest not in (0, 2, 3, 5):
        raise Unsupported(
            f"num_obs = {size} does not match the standard observation of {n} joints: list the"
            " terms in a policy.toml.",
            "num_obs",
        )
    return tuple(terms)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 100_000:
        raise InvalidFile(f"{name} must be a whole number, 1 or more.", name)
    return value


def _number(name: str, value: Any) -> float:
    values = number_list(name, value)
    if not isinstance(values, float):
        raise InvalidFile(f"{name} must be a number.", name)
    return values
