"""Strips: a robot's links and shapes at several times of a run, from the side and the front.

Links are lines between joints. The shape of a body is the hull of its contact points, or a circle
for a sphere. Arrows are contact forces. Everything is drawn with Matplotlib, without a GPU.
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
SIDE_DISTANCE = 1e-3  # m from the middle plane, beyond which a body is on the left or right
MIN_LINK_LENGTH = 1e-4  # m; shorter links are not drawn
WEIGHT_LENGTH = 0.5  # arrow length of the robot's weight, in robot heights
MIN_FORCE = 0.04  # smallest force with an arrow, in robot weights
MARGIN = 0.08  # around the robot, in robot heights
FRAME_HEIGHT, MIN_FRAME_WIDTH, MAX_FRAME_WIDTH = 1.9, 0.8, 4.0  # inches
MAX_STRIP_WIDTH = 16.0  # inches
LABEL_SIZE, TITLE_HEIGHT = 0.25, 0.3  # inches; the labels are the views' names and the times


def strip(log: xr.Dataset, times: ArrayLike, robot: Mechanism | None = None) -> Figure:
    """Draw a figure of the robot at several times of a log of one world.

    Parameters
    ----------
    log
        Log of one world.
    times
        Times in s; the closest step is drawn for each.
    robot
        Robot to draw; None for that of the log.

    Raises
    ------
    InvalidValue
        If the log contains several worlds, or `times` is empty.
    """
    return strip_figure(poses(log, times, robot))


def poses(log: xr.Dataset, times: ArrayLike, robot: Mechanism | None = None) -> dict[str, Any]:
    """Compute the record that `strip_figure` draws, in JSON types.

    It has the links, hulls and forces at each time, in m and N. The parameters are those of
    `strip`.
    """
    times = np.ravel(np.asarray(times, float))
    if "world" in log.dims:
        raise InvalidValue(
            "this log contains several worlds: choose one with log.isel(world=0).", "world"
        )
    if not times.size:
        raise InvalidValue("times must contain at least one time.", "times")
    log = check_log(log, ("q", "force_world", "contact_point"))
    robot = check_robot(log, robot or robot_of(log))
    selected = log.sel(time=times, method="nearest")
    # positions and forces
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    origins, points = _positions(robot, selected["q"].values)
    side = _sides(robot)
    frames = []
    for k, time in enumerate(selected["time"].values):
        forces = selected["force_world"].values[k]
        visible = np.linalg.norm(forces, axis=-1) > MIN_FORCE * weight
        frames.append(
            {
                "time": float(time),
                "base": origins[k, 0],
                "links": _create_links(robot, origins[k], points[k], side),
                "hulls": _collect_hulls(robot, points[k], side),
                "forces": [
                    {"at": point, "force": force}
                    for point, force in zip(
                        selected["contact_point"].values[k][visible], forces[visible], strict=True
                    )
                ],
            }
        )
    # scale
    first = np.concatenate([origins[0], points[0]]) if points.size else origins[0]
    flat = str(log.attrs.get("terrain", "")) == "plane"
    size = {"height": float(np.ptp(first[:, 2])), "weight": weight, "ground": flat}
    return json_value(size | {"frames": _round(frames)})


def strip_figure(
    poses: Mapping[str, Any], views: Sequence[str] = tuple(VIEWS), title: str = ""
) -> Figure:
    """Draw the record of `poses`: a column for each time, a row for each view.

    The width of a frame follows the robot's extent, so that the canvas is filled.

    Parameters
    ----------
    poses
        Record of `poses`.
    views
        "side" and "front", or one of them.
    title
        Title above the strip.
    """
    from matplotlib.figure import Figure

    reach, low, high = _extent(poses["frames"])
    margin = MARGIN * poses["height"]
    ratio = (reach + margin) / max((high - low) / 2 + margin, 1e-9)
    width = min(max(FRAME_HEIGHT * ratio, MIN_FRAME_WIDTH), MAX_FRAME_WIDTH)
    size = np.array([width * len(poses["frames"]), FRAME_HEIGHT * len(views)])
    size *= min(1.0, MAX_STRIP_WIDTH / size[0])
    size += (LABEL_SIZE, LABEL_SIZE + (TITLE_HEIGHT if title else 0.0))
    figure = Figure(figsize=tuple(size), layout="constrained")
    draw_strip(figure, poses, views)
    if title:
        figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def draw_strip(
    figure: Figure | SubFigure, poses: Mapping[str, Any], views: Sequence[str] = tuple(VIEWS)
) -> None:
    """Draw the record of `poses` into an existing figure or subfigure."""
    frames, height = poses["frames"], poses["height"]
    axes = figure.subplots(len(views), len(frames), squeeze=False, sharey=True)
    for row, view in enumerate(views):
        for ax, frame in zip(axes[row], frames, strict=True):
            _draw_frame(ax, frame, VIEWS[view], poses)
            if row == 0:
                ax.set_title(f"{frame['time']:.2f} s", fontsize=9)
        axes[row, 0].set_ylabel(view, fontsize=9)
    # same scale in all frames
    reach, low, high = _extent(frames)
    margin = MARGIN * height
    for row, view in enumerate(views):
        for ax, frame in zip(axes[row], frames, strict=True):
            middle = frame["base"][VIEWS[view][0]]
            ax.set_xlim(middle - reach - margin, middle + reach + margin)
            ax.set_ylim(low - margin, high + margin)


def split_vertically(figure: Figure, ratio: float) -> tuple[SubFigure, SubFigure]:
    """Split a figure into two subfigures; the upper one is `ratio` times as high."""
    parts: Any = figure.subfigures(2, 1, height_ratios=[ratio, 1])
    return parts[0], parts[1]


def _draw_frame(
    ax: Axes, frame: Mapping[str, Any], axes: tuple[int, int], poses: Mapping[str, Any]
) -> None:
    """Draw the robot at one time in the plane of two axes."""
    # links and shapes
    colors = {"left": LEFT, "right": RIGHT, "": MIDDLE}
    if poses["ground"]:
        ax.axhline(0.0, color="#999999", lw=0.8, zorder=0)
    for hull in frame["hulls"]:
        _draw_hull(ax, hull, axes, colors[hull["side"]])
    for link in frame["links"]:
        ends = np.array(link["ends"])[:, axes]
        ax.plot(*ends.T, color=colors[link["side"]], lw=1.6, solid_capstyle="round")
    # forces
    scale = WEIGHT_LENGTH * poses["height"] / poses["weight"]  # m per N
    for contact in frame["forces"]:
        point, force = (np.array(contact[name])[list(axes)] for name in ("at", "force"))
        ax.annotate(
            "",
            xy=tuple(point + scale * force),
            xytext=tuple(point),
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


def _draw_hull(ax: Axes, hull: Mapping[str, Any], axes: tuple[int, int], color: str) -> None:
    """Draw the convex hull of a body's contact points, and a circle for each sphere."""
    from matplotlib.patches import Circle

    points = np.array(hull["points"])[:, axes]
    for point, radius in zip(points, hull["radii"], strict=True):
        if radius > 0:
            ax.add_patch(Circle(tuple(point), radius, fill=False, color=color, lw=0.9))
    corners = convex_hull(points[np.array(hull["radii"]) == 0])
    if len(corners) > 1:
        ax.fill(*corners.T, facecolor=color, edgecolor=color, alpha=0.25, lw=0.9)


def convex_hull(points: Array) -> Array:
    """Compute the corners (m, 2) of the convex hull of points (n, 2), counterclockwise.

    Points on a line have two corners. This is Andrew's monotone chain algorithm: the lower chain
    from left to right, then the upper chain back.
    """
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for walk in (ordered, ordered[::-1]):
        chain: list[Array] = []
        for point in walk:
            while len(chain) > 1 and _signed_area(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def _signed_area(a: Array, b: Array, c: Array) -> float:
    """Compute twice the area of a triangle, positive if its corners are counterclockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _extent(frames: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Compute the largest horizontal reach from the base, and lowest and highest point, in m."""
    aside, heights = [], []
    for frame in frames:
        points = [(end, 0.0) for link in frame["links"] for end in link["ends"]]
        for hull in frame["hulls"]:
            points += zip(hull["points"], hull["radii"], strict=True)
        for point, radius in points:
            aside += [abs(point[k] - frame["base"][k]) + radius for k in (0, 1)]
            heights += [point[2] - radius, point[2] + radius]
    return max(aside), min(heights), max(heights)


def _positions(robot: Mechanism, q: Array) -> tuple[Array, Array]:
    """Compute positions of bodies (n, bodies, 3) and candidates (n, candidates, 3) at q."""
    symbol = SX.sym("q", robot.nq)
    kin = kinematics(robot, symbol)
    points = [jacobian.position(kin, c.body, SX(ca.DM(c.position))) for c in robot.candidates]
    function = ca.Function("places", [symbol], [ca.horzcat(*kin.world_position, *points)])
    columns = np.array(function.map(len(q))(ca.DM(q.T))).T.reshape(len(q), -1, 3)
    return columns[:, : len(robot.bodies)], columns[:, len(robot.bodies) :]


def _sides(robot: Mechanism) -> list[str]:
    """Assign "left", "right" or "" to each body, by its position with all joints at zero."""
    origins, _ = _positions(robot, robot.neutral()[None])
    offset = origins[0, :, 1] - origins[0, 0, 1]
    return ["left" if y > SIDE_DISTANCE else "right" if y < -SIDE_DISTANCE else "" for y in offset]


def _create_links(robot: Mechanism, origins: Array, points: Array, side: list[str]) -> list[Any]:
    """Create lines between joints, and from the last joint of a limb to its contact points."""
    lines = []
    parents = {body.parent for body in robot.bodies}
    for k, body in enumerate(robot.bodies):
        if body.parent >= 0:
            lines.append((k, np.array([origins[body.parent], origins[k]])))
        indices = [i for i, candidate in enumerate(robot.candidates) if candidate.body == k]
        if k not in parents and indices:
            lines.append((k, np.array([origins[k], points[indices].mean(axis=0)])))
    return [
        {"side": side[k], "ends": ends}
        for k, ends in lines
        if np.linalg.norm(ends[1] - ends[0]) > MIN_LINK_LENGTH
    ]


def _collect_hulls(robot: Mechanism, points: Array, side: list[str]) -> list[Any]:
    """Collect the contact points of each body that has several, or a sphere."""
    hulls = []
    for k in range(len(robot.bodies)):
        indices = [i for i, candidate in enumerate(robot.candidates) if candidate.body == k]
        radii = [robot.candidates[i].radius for i in indices]
        if len(indices) > 1 or any(radii):
            hulls.append({"side": side[k], "points": points[indices], "radii": radii})
    return hulls


def _round(value: Any) -> Any:
    """Round positions to 0.1 mm, which is finer than the drawing, to keep the record small."""
    if isinstance(value, Mapping):
        return {name: _round(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_round(part) for part in value]
    return np.round(value, 4) if isinstance(value, np.ndarray | float) else value
