"""Picture strips: a robot's links and shapes at some times of a run, from the side and the front.

Links are lines between joints; the shape of a body is the hull of its contact points, or a circle
for a sphere. Arrows are the contact forces. No graphics card is needed: Matplotlib draws it all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import xarray as xr
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import InvalidValue
from tarsus.files import json_value
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log, check_robot
from tarsus.viewer.colors import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Array = NDArray[np.float64]
VIEWS = {"side": (0, 2), "front": (1, 2)}  # horizontal and vertical axis
LEFT, RIGHT, MIDDLE, FORCE = COLORS[0], COLORS[4], "#444444", COLORS[1]
ASIDE = 1e-3  # m: what is farther from the middle plane at rest belongs to a side
SHORT = 1e-4  # m: no line for a link shorter than this
ARROW = 0.5  # of the robot's height: an arrow of its whole weight
FAINT = 0.04  # of its weight: no arrow for less
MARGIN = 0.08  # of its height, around it
HIGH, NARROW, WIDEST = 1.9, 0.8, 4.0  # inches of one picture: its height, and limits of its width
LONGEST = 16.0  # inches of a strip
LABEL, TITLE = 0.25, 0.3  # inches of the views' names and times, and of a title


def strip(log: xr.Dataset, times: ArrayLike, robot: Mechanism | None = None) -> Figure:
    """A figure of the robot at these times, s; each the log's nearest, of one world.

    robot: the log's own by default. TarsusError for a log of many worlds, or without times.
    """
    return drawn(poses(log, times, robot))


def poses(log: xr.Dataset, times: ArrayLike, robot: Mechanism | None = None) -> dict[str, Any]:
    """What `drawn` needs, in JSON's types: lines, hulls and forces at each time, m and N."""
    # the instants asked for
    at = np.ravel(np.asarray(times, float))
    if "world" in log.dims:
        raise InvalidValue(
            "this log contains several worlds: choose one with log.isel(world=0).", "world"
        )
    if not at.size:
        raise InvalidValue("times must contain at least one time.", "times")
    log = check_log(log, ("q", "force_world", "contact_point"))
    robot = check_robot(log, robot or robot_of(log))
    shown = log.sel(time=at, method="nearest")
    # where everything is then, and what pushes
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    origins, points = _places(robot, shown["q"].values)
    side = _sides(robot)
    frames = []
    for k, time in enumerate(shown["time"].values):
        pressed = shown["force_world"].values[k]
        acting = np.linalg.norm(pressed, axis=-1) > FAINT * weight
        frames.append(
            {
                "time": float(time),
                "base": origins[k, 0],
                "links": _links(robot, origins[k], points[k], side),
                "hulls": _hulls(robot, points[k], side),
                "forces": [
                    {"at": at, "force": force}
                    for at, force in zip(
                        shown["contact_point"].values[k][acting], pressed[acting], strict=True
                    )
                ],
            }
        )
    # and the scale of it
    first = np.concatenate([origins[0], points[0]]) if points.size else origins[0]
    flat = str(log.attrs.get("terrain", "")) == "plane"
    size = {"height": float(np.ptp(first[:, 2])), "weight": weight, "ground": flat}
    return json_value(size | {"frames": _rounded(frames)})


def drawn(poses: Mapping[str, Any], views: Sequence[str] = tuple(VIEWS), title: str = "") -> Figure:
    """Draw `poses`: a column for each time, a row for each view ("side", "front").

    A picture is as wide as the robot's reach asks for, so that all of the canvas is used.
    """
    from matplotlib.figure import Figure

    reach, low, high = _extent(poses["frames"])
    margin = MARGIN * poses["height"]
    ratio = (reach + margin) / max((high - low) / 2 + margin, 1e-9)
    wide = min(max(HIGH * ratio, NARROW), WIDEST)
    size = np.array([wide * len(poses["frames"]), HIGH * len(views)])
    size *= min(1.0, LONGEST / size[0])
    size += (LABEL, LABEL + (TITLE if title else 0.0))
    figure = Figure(figsize=tuple(size), layout="constrained")
    draw(figure, poses, views)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def draw(
    figure: Figure | SubFigure, poses: Mapping[str, Any], views: Sequence[str] = tuple(VIEWS)
) -> None:
    """The same in a figure or a part of one."""
    frames, height = poses["frames"], poses["height"]
    axes = figure.subplots(len(views), len(frames), squeeze=False, sharey=True)
    for row, view in enumerate(views):
        for ax, frame in zip(axes[row], frames, strict=True):
            _picture(ax, frame, VIEWS[view], poses)
            if row == 0:
                ax.set_title(f"{frame['time']:.2f} s", fontsize=9)
        axes[row, 0].set_ylabel(view, fontsize=9)
    # one scale for all
    reach, low, high = _extent(frames)
    margin = MARGIN * height
    for row, view in enumerate(views):
        for ax, frame in zip(axes[row], frames, strict=True):
            middle = frame["base"][VIEWS[view][0]]
            ax.set_xlim(middle - reach - margin, middle + reach + margin)
            ax.set_ylim(low - margin, high + margin)


def above_and_below(figure: Figure, ratio: float) -> tuple[SubFigure, SubFigure]:
    """Two parts of a figure, the upper one `ratio` times as high as the lower one."""
    parts: Any = figure.subfigures(2, 1, height_ratios=[ratio, 1])
    return parts[0], parts[1]


def _picture(
    ax: Axes, frame: Mapping[str, Any], axes: tuple[int, int], poses: Mapping[str, Any]
) -> None:
    """One robot, seen along one axis."""
    # links and shapes
    colors = {"left": LEFT, "right": RIGHT, "": MIDDLE}
    if poses["ground"]:
        ax.axhline(0.0, color="#999999", lw=0.8, zorder=0)
    for hull in frame["hulls"]:
        _hull(ax, hull, axes, colors[hull["side"]])
    for link in frame["links"]:
        ends = np.array(link["ends"])[:, axes]
        ax.plot(*ends.T, color=colors[link["side"]], lw=1.6, solid_capstyle="round")
    # forces
    long = ARROW * poses["height"] / poses["weight"]
    for pushed in frame["forces"]:
        at, force = (np.array(pushed[name])[list(axes)] for name in ("at", "force"))
        ax.annotate(
            "",
            xy=tuple(at + long * force),
            xytext=tuple(at),
            arrowprops={
                "arrowstyle": "->",
                "color": FORCE,
                "lw": 0.9,
                "mutation_scale": 6,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=True,
        )
    ax.set_aspect("equal", adjustable="box")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def _hull(ax: Axes, hull: Mapping[str, Any], axes: tuple[int, int], color: str) -> None:
    """The outline of a body's contact points, a circle for each that is a sphere."""
    from matplotlib.patches import Circle

    points = np.array(hull["points"])[:, axes]
    for point, radius in zip(points, hull["radii"], strict=True):
        if radius > 0:
            ax.add_patch(Circle(tuple(point), radius, fill=False, color=color, lw=0.9))
    corners = convex_hull(points[np.array(hull["radii"]) == 0])
    if len(corners) > 1:
        ax.fill(*corners.T, facecolor=color, edgecolor=color, alpha=0.25, lw=0.9)


def convex_hull(points: Array) -> Array:
    """The corners (m, 2) of the convex hull of points (n, 2), anticlockwise; two of a line.

    Andrew's chains: the lower one from left to right, the upper one back.
    """
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for walk in (ordered, ordered[::-1]):
        chain: list[Array] = []
        for point in walk:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def _turn(a: Array, b: Array, c: Array) -> float:
    """Twice the area of a triangle, positive if it turns to the left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _extent(frames: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """How far from its base any robot reaches sideways, its lowest and its highest point, m."""
    aside, heights = [], []
    for frame in frames:
        points = [(end, 0.0) for link in frame["links"] for end in link["ends"]]
        for hull in frame["hulls"]:
            points += zip(hull["points"], hull["radii"], strict=True)
        for point, radius in points:
            aside += [abs(point[k] - frame["base"][k]) + radius for k in (0, 1)]
            heights += [point[2] - radius, point[2] + radius]
    return max(aside), min(heights), max(heights)


def _places(robot: Mechanism, q: Array) -> tuple[Array, Array]:
    """Origins of all bodies (n, bodies, 3) and of all contact points (n, candidates, 3), at q."""
    at = SX.sym("q", robot.nq)
    kin = kinematics(robot, at)
    points = [jacobian.position(kin, c.body, SX(ca.DM(c.position))) for c in robot.candidates]
    found = ca.Function("places", [at], [ca.horzcat(*kin.world_position, *points)])
    columns = np.array(found.map(len(q))(ca.DM(q.T))).T.reshape(len(q), -1, 3)
    return columns[:, : len(robot.bodies)], columns[:, len(robot.bodies) :]


def _sides(robot: Mechanism) -> list[str]:
    """ "left", "right" or "" of each body, by where it is with all joints at zero."""
    origins, _ = _places(robot, robot.neutral()[None])
    across = origins[0, :, 1] - origins[0, 0, 1]
    return ["left" if y > ASIDE else "right" if y < -ASIDE else "" for y in across]


def _links(robot: Mechanism, origins: Array, points: Array, side: list[str]) -> list[Any]:
    """Lines from each joint to the next; from the last one of a limb to its contact points."""
    found = []
    parents = {body.parent for body in robot.bodies}
    for k, body in enumerate(robot.bodies):
        if body.parent >= 0:
            found.append((k, np.array([origins[body.parent], origins[k]])))
        own = [i for i, candidate in enumerate(robot.candidates) if candidate.body == k]
        if k not in parents and own:
            found.append((k, np.array([origins[k], points[own].mean(axis=0)])))
    return [
        {"side": side[k], "ends": ends}
        for k, ends in found
        if np.linalg.norm(ends[1] - ends[0]) > SHORT
    ]


def _hulls(robot: Mechanism, points: Array, side: list[str]) -> list[Any]:
    """The contact points of each body that has more than one, or a sphere."""
    found = []
    for k in range(len(robot.bodies)):
        own = [i for i, candidate in enumerate(robot.candidates) if candidate.body == k]
        radii = [robot.candidates[i].radius for i in own]
        if len(own) > 1 or any(radii):
            found.append({"side": side[k], "points": points[own], "radii": radii})
    return found


def _rounded(value: Any) -> Any:
    """Places to 0.1 mm: a record need not be longer than its picture is sharp."""
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return np.round(value, 4) if isinstance(value, np.ndarray | float) else value
