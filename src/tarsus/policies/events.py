"""Find the first abnormal event before each fall, compared with trials without a fall.

Each kind of event has a measure in every control period, which is larger if the event is worse. Its
normal range comes from trials without a fall in a reference engine. The first event of a fall is
the measure that first leaves its normal range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.poses import poses
from tarsus.morphology.distances import solid_distance
from tarsus.morphology.self_contacts import self_contacts
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.foot_contact import CONTACT_GAP, Heights, foot_gaps, foot_slip
from tarsus.policies.rollout import Rollout
from tarsus.policies.servos import ServoArrays

Array = NDArray[np.float64]
Measures = Mapping[str, Array]
MAX_FALLS = 50  # examined falls per engine
MAX_STANDING = 20  # trials without a fall that define the normal range
TOLERANCES = {  # excess over the normal range that counts as an event
    "foot slip": 0.05,  # m/s
    "early touchdown": 0.25,  # normal swing time over this one
    "torque limit": 0.05,  # demanded torque over the limit
    "joint limit": 0.01,  # rad beyond the range
    "self-collision": 1e-3,  # m of overlap
}
NO_EVENT = "none of these"


@dataclass(frozen=True)
class FirstEvents:
    """First events of the falls in one engine.

    Parameters
    ----------
    engine : str
        Engine in which the trials fell.
    falls : int
        Number of falls examined.
    counts : dict
        Number of falls that began with each kind of event.
    lead_time : dict
        Median time from the event to the fall, s, by kind.
    """

    engine: str
    falls: int
    counts: dict[str, int]
    lead_time: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Convert the counts to JSON values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class EventMeasures:
    """Event measures of trials in one engine.

    Parameters
    ----------
    fallen, standing : mapping
        Measures of trials with and without a fall, shape (periods, trials), by kind of event.
    fall_times : ndarray
        Time of each examined fall, shape (fallen trials,), s.
    period : float
        Control period, s.
    """

    fallen: Measures
    standing: Measures
    fall_times: Array
    period: float


def measure_events(policy: BoundPolicy, done: Rollout, heights: Heights) -> EventMeasures:
    """Compute the event measures of a recorded rollout, for some trials with and without a fall.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    done : Rollout
        Recorded rollout.
    heights : callable
        Ground height in m below points of shape (worlds, n, 2).
    """
    fallen = np.flatnonzero(~done.survived)[:MAX_FALLS]
    standing = np.flatnonzero(done.survived)[:MAX_STANDING]
    return EventMeasures(
        measure_trials(policy, done, fallen, heights),
        measure_trials(policy, done, standing, heights),
        done.fell[fallen],
        done.period,
    )


def measure_trials(
    policy: BoundPolicy, done: Rollout, trials: NDArray[np.int64], heights: Heights
) -> Measures:
    """Compute the measure of each kind of event, shape (periods, trials)."""
    robot, periods = policy.robot, len(done.q)
    if not len(trials) or not periods:
        return {}
    q, u = (np.ascontiguousarray(x[:, trials]) for x in (done.q, done.u))
    shape = periods, len(trials)
    flat_q, flat_u = q.reshape(-1, q.shape[-1]), u.reshape(-1, u.shape[-1])
    values: dict[str, Array] = {}
    gaps = foot_gaps(robot, flat_q, heights)
    if gaps.shape[1]:
        values["foot slip"] = foot_slip(robot, flat_q, flat_u, heights).max(axis=1).reshape(shape)
        touching = (gaps <= CONTACT_GAP).reshape(*shape, -1)
        values["early touchdown"] = 1 / np.maximum(swing_times(touching), 1)
    q_indices, u_indices = policy.motor_indices
    servos = ServoArrays.from_servos(policy.servos)
    torque = servos.demanded_torques(done.signals[:, trials], q[..., q_indices], u[..., u_indices])
    limit = np.abs(servos.torque_limits).max(axis=0)
    if np.isfinite(limit).any():
        demand = np.abs(torque[..., np.isfinite(limit)]) / limit[np.isfinite(limit)]
        values["torque limit"] = demand.max(axis=-1)
    joints = [robot.bodies[robot.joint_index(s.joint)].joint for s in policy.servos]
    lower, upper = np.array([(joint.lower, joint.upper) for joint in joints]).T
    beyond = np.maximum(lower - q[..., q_indices], q[..., q_indices] - upper)
    if np.isfinite(beyond).any():
        values["joint limit"] = np.where(np.isfinite(beyond), beyond, -np.inf).max(axis=-1)
    if pairs := self_contacts(robot, True).possible:
        body_poses = poses(robot, flat_q)
        gap = np.min([solid_distance(pair, body_poses) for pair in pairs], axis=0)
        values["self-collision"] = -gap.reshape(shape)
    return values


def swing_times(touching: NDArray[np.bool_]) -> Array:
    """Compute the shortest swing that ends in each period, in periods; infinite if none ends.

    Parameters
    ----------
    touching : ndarray
        Whether each foot touches the ground, shape (periods, trials, feet).
    """
    ends = np.full(touching.shape[:2], np.inf)
    swing = np.zeros(touching.shape[1:])
    for k, now in enumerate(touching):
        landed = now & (swing > 0) & (swing < k)  # the start of a swing at k = 0 is unknown
        ends[k] = np.where(landed, swing, np.inf).min(axis=-1)
        swing = np.where(now, 0, swing + 1)
    return ends


def first_events(engine: str, observed: EventMeasures, normal: EventMeasures) -> FirstEvents:
    """Find the measure that left its normal range first, for each fall.

    Parameters
    ----------
    engine : str
        Name of the engine of `observed`.
    observed : EventMeasures
        Measures of the falls.
    normal : EventMeasures
        Measures of the reference engine, whose trials without a fall define the normal range.
    """
    counts, leads = Counter[str](), dict[str, list[float]]()
    bounds = {
        kind: float(values.max()) + TOLERANCES[kind] * _scale(kind, values)
        for kind, values in normal.standing.items()
    }
    for k, fell in enumerate(observed.fall_times):
        end = round(fell / observed.period)
        starts = {
            kind: int(np.argmax(values[:end, k] > bounds[kind]))
            for kind, values in observed.fallen.items()
            if kind in bounds and (values[:end, k] > bounds[kind]).any()
        }
        first = min(starts, key=lambda kind: starts[kind]) if starts else NO_EVENT
        counts[first] += 1
        if starts:
            leads.setdefault(first, []).append(fell - (starts[first] + 1) * observed.period)
    lead = {kind: float(np.median(times)) for kind, times in leads.items()}
    return FirstEvents(engine, len(observed.fall_times), dict(counts.most_common()), lead)


def _scale(kind: str, values: Array) -> float:
    """Compute the factor on a tolerance; for early touchdown, one over the normal swing time."""
    if kind != "early touchdown":
        return 1.0
    swings = values[(values > 0) & (values < 1)]
    return float(np.median(swings)) if len(swings) else 1.0
