"""Videos, images and strips of logs, rendered by `ray_caster` and written as mp4, gif or png."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, TarsusWarning, Unsupported
from tarsus.files import atomic_write
from tarsus.model.files import import_library
from tarsus.processes import usable_cores
from tarsus.viewer.arrows import Scale, arrows, cones
from tarsus.viewer.body_poses import GRID_SPACING, MAX_OVERLAID, grid_positions
from tarsus.viewer.drawn_shape import merge_shapes
from tarsus.viewer.ground import ground_shapes, level_height, terrain_of
from tarsus.viewer.merged_robots import MergedRobots
from tarsus.viewer.ray_caster import VIEW, Camera, PlacedSolid, RenderScene, Solid, render_image
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Contacts, Track

Array = NDArray[Any]
SUFFIXES = (".mp4", ".gif", ".png")
CAMERA_DISTANCE = 2.7  # in robot sizes
AZIMUTH, ELEVATION = np.deg2rad(-58.0), np.deg2rad(14.0)  # of the camera
GRID_ELEVATION = np.deg2rad(30.0)  # of the camera above a grid of robots
SMOOTHING_TIME = 0.4  # s, over which the camera's path is averaged
FRAMES_AHEAD = 8  # frames that are rendered at once, or wait to be written
MAX_RATE_DENOMINATOR = 1000  # of the frame rate as a fraction, for ffmpeg


@dataclass(frozen=True)
class RenderSettings:
    """Size of the image, camera and arrangement of the robots.

    Attributes
    ----------
    width, height
        Size in pixels.
    azimuth
        Direction of the camera about z, from the x axis, in rad.
    elevation
        Angle of the camera above the horizontal, in rad. None chooses it by the number of robots.
    distance
        Distance of the camera, in robot sizes.
    follow
        Whether the camera follows the robot.
    forces
        Whether to draw contact forces and friction cones.
    spacing
        Distance between the robots of several worlds or logs, in m; 0 overlays them. None overlays
        up to 8 robots, and separates more by 1.6 times their length.
    """

    width: int = 800
    height: int = 600
    azimuth: float = float(AZIMUTH)
    elevation: float | None = None
    distance: float = CAMERA_DISTANCE
    follow: bool = True
    forces: bool = True
    spacing: float | None = None

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            if not 16 <= value <= 8192 or value % 2:
                raise InvalidValue(
                    f"{name} must be an even number from 16 to 8192, not {value}.", name
                )
        if not 0.1 <= self.distance <= 1000:
            raise InvalidValue(
                f"distance must be from 0.1 to 1000, not {self.distance:g}.", "distance"
            )
        if self.elevation is not None and not abs(self.elevation) < np.deg2rad(89.0):
            raise InvalidValue(
                "elevation must be between -89 and 89 degrees, not"
                f" {np.rad2deg(self.elevation):g}.",
                "elevation",
            )
        if self.spacing is not None and not 0 <= self.spacing <= 100:
            raise InvalidValue(f"spacing must be from 0 to 100 m, not {self.spacing:g}.", "spacing")


class Stage:
    """Scene of one or more logs.

    If the robots are overlaid, the first world of the first log is opaque and all others are
    transparent. Otherwise they stand on a square grid, with that world in its corner.

    Parameters
    ----------
    tracks
        Logs to draw.
    view
        Camera and arrangement of the robots.
    """

    def __init__(self, tracks: Sequence[Track], view: RenderSettings) -> None:
        # ground along the robots' paths
        self.tracks, self.view = list(tracks), view
        first = tracks[0]
        terrain = terrain_of(first.attributes)
        path = np.concatenate(
            [track.base(w)[:, :2] for track in tracks for w in _choose_worlds(track)]
        )
        self._level = level_height(terrain)
        ground = ground_shapes(terrain, path)
        self._ground = [PlacedSolid(Solid(s), np.zeros(3), np.eye(3)) for s in ground]
        # robots, overlaid or on a grid
        self._scale = Scale(first.size, first.weight)
        worlds = sum(track.worlds for track in tracks)
        spacing = self._spacing(worlds, bool(ground))
        self._offsets = spacing * grid_positions(worlds) if spacing else np.zeros((1, 3))
        self._grids = [MergedRobots(track.robot, worlds) for track in tracks] if spacing else []
        overlaid = [] if spacing else tracks
        self._overlaid = [[Solid(s) for s in drawn_shapes(track.robot)] for track in overlaid]
        # path of the camera's target
        path = first.base()
        step = float(np.median(np.diff(first.time))) if len(first.time) > 1 else 1.0
        self._target = _moving_average(path, max(round(SMOOTHING_TIME / max(step, 1e-9)), 1))
        if not view.follow:
            self._target = np.tile((path.min(0) + path.max(0)) / 2, (len(path), 1))
        if first.robot.mobile:  # the middle of the robot, not its trunk
            self._target[:, 2] = np.median(path[:, 2]) + first.middle
        reach = 0.0 if view.follow else float(np.ptp(path[:, :2], axis=0).max())
        self._distance = view.distance * float(first.extent.max()) + reach

    def _spacing(self, worlds: int, on_uneven_ground: bool) -> float:
        """Compute the distance between robots, in m; 0 to overlay them."""
        requested = self.view.spacing
        if requested is not None:
            if requested and on_uneven_ground:
                raise Unsupported(
                    "spacing needs level ground, but this log's terrain is uneven: omit it.",
                    "spacing",
                )
            return requested if worlds > 1 else 0.0
        if on_uneven_ground and worlds > MAX_OVERLAID:
            text = (
                f"only {MAX_OVERLAID} of {worlds} worlds are drawn: on uneven ground, robots cannot"
                " be drawn side by side."
            )
            warnings.warn(TarsusWarning(text, "worlds-not-drawn", "world"), stacklevel=3)
        spacing = GRID_SPACING * float(self.tracks[0].extent.max())
        return spacing if worlds > MAX_OVERLAID and not on_uneven_ground else 0.0

    def frame(self, time: float) -> NDArray[np.uint8]:
        """Render the image (height, width, 3) at a time in s."""
        robots = self._grid_robots(time) if self._grids else self._overlaid_robots(time)
        placed = [*self._ground, *robots]
        # forces of the first robot, or of all robots of a small grid
        step = self.tracks[0].step_at(time)
        if self.view.forces:
            small_grid = self._grids and len(self._offsets) <= MAX_OVERLAID
            contacts_of = self._contacts(time)
            for contacts, offset in contacts_of if small_grid else contacts_of[:1]:
                for shapes, opaque in ((arrows, True), (cones, False)):
                    drawn = merge_shapes(shapes(contacts, self._scale))
                    placed += [PlacedSolid(Solid(s), offset, np.eye(3), opaque) for s in drawn]
        return render_image(RenderScene(placed, self._level), self._camera(step))

    def _overlaid_robots(self, time: float) -> list[PlacedSolid]:
        """Create the solids of the overlaid robots."""
        placed = []
        for number, track in enumerate(self.tracks):
            positions, rotations = track.poses(track.step_at(time))
            for world in _choose_worlds(track):
                opaque = number == 0 and world == 0
                placed += [
                    PlacedSolid(s, positions[world, s.body], rotations[world, s.body], opaque)
                    for s in self._overlaid[number]
                ]
        return placed

    def _grid_robots(self, time: float) -> list[PlacedSolid]:
        """Create the solids of the robots on the grid."""
        placed, first = [], 0
        for robots, track in zip(self._grids, self.tracks, strict=True):
            step = track.step_at(time)
            positions, rotations = track.poses(step)
            offsets = self._offsets[first : first + track.worlds, None]
            placed += robots.place(track.q[step], positions + offsets, rotations)
            first += track.worlds
        return placed

    def _contacts(self, time: float) -> list[tuple[Contacts, Array]]:
        """Collect the contacts of each robot, and its offset (3,) in m."""
        contacts = [
            track.contacts_at(track.step_at(time), world)
            for track in self.tracks
            for world in _choose_worlds(track)
        ]
        return list(zip(contacts, self._offsets, strict=False))

    def _camera(self, step: int) -> Camera:
        # direction
        view, elevation = self.view, self.view.elevation
        if elevation is None:
            elevation = ELEVATION if len(self._offsets) <= MAX_OVERLAID else GRID_ELEVATION
        direction = np.array(
            [
                np.cos(elevation) * np.cos(view.azimuth),
                np.cos(elevation) * np.sin(view.azimuth),
                np.sin(elevation),
            ]
        )
        # position and distance at which all robots of the grid are in view
        camera = Camera(direction, np.zeros(3), view.width, view.height)
        aside, up, toward = (self._offsets @ camera.axes.T * [1, 1, -1]).T
        wide, high = VIEW / 2 * view.width / view.height, VIEW / 2
        distance = self._distance + max(
            _required_distance(aside, toward, wide), _required_distance(up, toward, high)
        )
        depth = distance - toward
        shift = [_centered_axis(aside, depth), _centered_axis(up, depth), -distance]
        eye = np.array(shift) @ camera.axes + self._target[step]
        return replace(camera, eye=eye, target=eye - distance * direction)


def _required_distance(lateral: Array, toward: Array, slope: float) -> float:
    """Compute the distance from the origin at which a camera sees all points, in m.

    Parameters
    ----------
    lateral
        Lateral positions of the points, shape (n,), in m.
    toward
        By how much each point is closer to the camera than the origin, shape (n,), in m.
    slope
        Half the width of the view at a distance of 1 m.
    """
    return float((slope * toward + lateral).max() + (slope * toward - lateral).max()) / (2 * slope)


def _centered_axis(lateral: Array, depth: Array) -> float:
    """Compute the lateral position of a camera, in m, whose view is centered on the points.

    The points have lateral positions (n,) and depths (n,), in m.
    """
    axis = 0.0
    for _ in range(20):
        slope = (lateral - axis) / depth
        axis += float(slope.max() + slope.min()) / 2 * float(depth.min())
    return axis


def _choose_worlds(track: Track) -> range:
    """Choose the worlds of a log that are drawn when robots are overlaid."""
    return range(min(track.worlds, MAX_OVERLAID))


def _moving_average(path: Array, steps: int) -> Array:
    """Compute the moving average of a path (n, 3) over a number of steps."""
    steps = min(steps, len(path))
    padded = np.concatenate(
        [np.tile(path[:1], (steps // 2, 1)), path, np.tile(path[-1:], (steps - steps // 2 - 1, 1))]
    )
    total = np.cumsum(np.concatenate([np.zeros((1, 3)), padded]), axis=0)
    return (total[steps:] - total[:-steps]) / steps


def times(track: Track, rate: float, speed: float) -> Array:
    """Compute the times of a video's frames, shape (n,), in s.

    Parameters
    ----------
    track
        Log.
    rate
        Frames per second of the video.
    speed
        Playback speed relative to real time.
    """
    for name, value in (("rate", rate), ("speed", speed)):
        if not 1e-3 <= value <= 1e3:
            raise InvalidValue(f"{name} must be from 0.001 to 1000, not {value:g}.", name)
    first, last = float(track.time[0]), float(track.time[-1])
    return first + np.arange(int((last - first) * rate / speed + 1e-9) + 1) * speed / rate


def write(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """Write frames (height, width, 3) at a rate in 1/s to an .mp4 or .gif file, atomically."""
    with atomic_write(path) as temporary:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(frames, temporary, rate)


def save(image: NDArray[np.uint8], path: Path) -> None:
    """Write an image (height, width, 3) as .png, atomically."""
    library = import_library("PIL.Image", "writing an image", "view")
    with atomic_write(path) as temporary:
        library.fromarray(image).save(temporary, format="PNG", optimize=True)


def _write_mp4(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """Write H.264, which every browser plays."""
    av = import_library("av", "writing an .mp4", "view")
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as video:
        stream: Any = None
        for image in frames:
            if stream is None:
                fraction = Fraction(rate).limit_denominator(MAX_RATE_DENOMINATOR)
                stream = video.add_stream("libx264", rate=fraction, options={"crf": "20"})
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                video.mux(packet)
        for packet in stream.encode():
            video.mux(packet)


def _write_gif(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """Write an animated GIF that repeats forever, with one palette for all frames."""
    library = import_library("PIL.Image", "writing a .gif", "view")
    images = [library.fromarray(image) for image in frames]
    palette = images[len(images) // 2].quantize(256, dither=0)
    flat = [image.quantize(palette=palette, dither=0) for image in images]
    flat[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=flat[1:],
        duration=max(round(1000 / rate), 20),
        loop=0,
        optimize=True,
    )


def draw_label(image: NDArray[np.uint8], text: str) -> NDArray[np.uint8]:
    """Write a line of text in the upper left corner of an image."""
    library = import_library("PIL.Image", "labeling an image", "view")
    drawing = import_library("PIL.ImageDraw", "labeling an image", "view")
    fonts = import_library("PIL.ImageFont", "labeling an image", "view")
    size = max(image.shape[0] // 30, 10)
    canvas = library.fromarray(image)
    font = fonts.load_default(size)
    drawing.Draw(canvas).text((size // 2, size // 2), text, fill=(40, 44, 52), font=font)
    return np.asarray(canvas)


def render_frames(
    stage: Stage, times: Array, speed: float, report: Callable[[float], None] | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of a video, each labeled with its time.

    Parameters
    ----------
    stage
        Scene to render.
    times
        Times of the frames, shape (n,), in s.
    speed
        Playback speed relative to real time, for the label.
    report
        Called after every frame with the completed fraction, 0 to 1.
    """
    suffix = "" if speed == 1 else f" ({speed:g}x speed)"

    def render(time: float) -> NDArray[np.uint8]:
        return draw_label(stage.frame(time), f"{time:.2f} s{suffix}")

    pool = ThreadPoolExecutor(usable_cores())
    pending, remaining = deque[Future[NDArray[np.uint8]]](), iter(times)
    try:
        for k in range(len(times)):
            ahead = islice(remaining, FRAMES_AHEAD - len(pending))
            pending.extend(pool.submit(render, float(time)) for time in ahead)
            yield pending.popleft().result()
            if report:
                report((k + 1) / len(times))
    finally:
        pool.shutdown(cancel_futures=True)


def strip(stage: Stage, times: Array) -> NDArray[np.uint8]:
    """Render the frames at times (n,), in s, side by side in one image."""
    return np.concatenate([draw_label(stage.frame(float(t)), f"{t:.2f} s") for t in times], axis=1)
