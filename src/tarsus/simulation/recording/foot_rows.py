"""One row per foot instead of one per contact point, for tables and plots of a log."""

from __future__ import annotations

import re
from functools import lru_cache

import xarray as xr

from tarsus.contact.criteria import STATES
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.recording.log_robot import robot_of

CACHE_SIZE = 8  # robots
SUMMED = ("impulse_contact", "impulse_world", "force_contact", "force_world")
SOURCE_ATTRIBUTES = ("robot", "robot_file", "robot_sha256", "robot_options", "model_sha256")
POINT_MARKS = re.compile(r"[-+/]")  # between the names of candidates in that of a span


def foot_names(log: xr.Dataset, robot: Mechanism) -> dict[str, str]:
    """Find the name of the foot, or other body, of every contact of a log, by contact.

    The contact points of a body have the name that they share, such as `sole` for `sole_0` and
    `sole_1`, or else that of the body. A single contact point keeps its name, and so do contacts
    between two bodies.
    """
    names = [str(name) for name in log["contact"].values]
    of_candidates = {c.name: robot.bodies[c.body].name for c in robot.candidates}
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_find_body(name, of_candidates), []).append(name)
    result, used = dict[str, str](), set[str]()
    for body, own in groups.items():
        stems = {re.sub(r"_\d+$", "", name) for name in own}
        shared = own[0] if len(own) == 1 else stems.pop() if len(stems) == 1 else body
        foot = body if shared in used else shared
        used.add(foot)
        result |= dict.fromkeys(own, foot)
    return result


def combine_by_foot(log: xr.Dataset) -> xr.Dataset:
    """Combine the contact points of every foot or other body to one row.

    Forces, impulses and energies are sums, `gap` is the least one and `contact_point` the center of
    pressure, or the lowest point without a force. A foot sticks if one of its points does, and
    `slip_speed` is the least of closed points. Velocities of points are dropped. A log
    whose robot is not available, or whose contacts have equal names, keeps its rows.
    """
    robot, names = _robot(log), [str(name) for name in log["contact"].values]
    if robot is None or len(set(names)) < len(names):
        return log
    feet, rows = foot_names(log, robot), dict[str, list[int]]()
    for k, name in enumerate(names):
        rows.setdefault(feet[name], []).append(k)
    if len(rows) == len(names):
        return log
    per_contact = [str(name) for name, values in log.data_vars.items() if "contact" in values.dims]
    combined = [
        _combine_points(log[per_contact].isel(contact=own), name) for name, own in rows.items()
    ]
    feet_rows = xr.concat(combined, "contact")
    return log.drop_dims("contact").merge(feet_rows).assign_attrs(log.attrs)


def _combine_points(points: xr.Dataset, name: str) -> xr.Dataset:
    """Combine contact points to one row."""
    closed, normal = points["state"] > 0, points["force_contact"].sel(axis="normal", drop=True)
    gap, least = points["gap"], points["gap"].min("contact")
    sums = {
        key: values.sum("contact", keep_attrs=True)
        for key, values in points.data_vars.items()
        if key in SUMMED or str(key).startswith("energy_")
    }
    # weights of the points: their forces, or the lowest one
    lowest = (gap == least).astype(float)
    load = normal.sum("contact")
    share = xr.where(load > 0, normal / load.where(load > 0, 1.0), lowest / lowest.sum("contact"))
    means = {
        key: (points[key] * share).sum("contact").assign_attrs(points[key].attrs)
        for key in ("contact_point", "contact_normal", "ground_friction")
        if key in points
    }
    if "contact_normal" in means:
        length = (means["contact_normal"] ** 2).sum("xyz") ** 0.5
        attributes = means["contact_normal"].attrs
        means["contact_normal"] = (means["contact_normal"] / length).assign_attrs(attributes)
    sticks = (points["state"] == STATES.index("stick")).any("contact")
    slips = (points["state"] == STATES.index("slip")).any("contact")
    state = xr.where(sticks, STATES.index("stick"), slips * STATES.index("slip"))
    row = {"gap": least.assign_attrs(gap.attrs)} | sums | means
    row["state"] = state.astype(points["state"].dtype).assign_attrs(points["state"].attrs)
    if "slip_speed" in points:
        speed = points["slip_speed"]
        slip = xr.where(
            closed.any("contact"), speed.where(closed).min("contact"), speed.min("contact")
        )
        row["slip_speed"] = slip.assign_attrs(speed.attrs)
    order = [d for d in points["gap"].dims if d != "contact"]
    return xr.Dataset(row).expand_dims({"contact": [name]}).transpose(*order, "contact", ...)


def _find_body(name: str, bodies: dict[str, str]) -> str:
    """Look up the body of a contact by its candidate or span; by default return the contact."""
    starts = [name, *(name[: mark.start()] for mark in POINT_MARKS.finditer(name))]
    return next((bodies[start] for start in starts if start in bodies and ":" not in name), name)


def _robot(log: xr.Dataset) -> Robot | None:
    return _load_robot_once(
        tuple((key, str(log.attrs[key])) for key in SOURCE_ATTRIBUTES if key in log.attrs)
    )


@lru_cache(maxsize=CACHE_SIZE)
def _load_robot_once(attributes: tuple[tuple[str, str], ...]) -> Robot | None:
    """Load a robot once for all tables of a log; None if it is not available."""
    try:
        return robot_of(xr.Dataset(attrs=dict(attributes)))
    except TarsusError:
        return None
