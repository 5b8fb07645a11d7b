"""Films, pictures and strips of logs: frames drawn by `picture`, written as mp4, gif or png."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, TarsusWarning, Unsupported
from tarsus.files import atomic_write
from tarsus.model.files import needed_library
from tarsus.viewer.arrows import Scale, arrows, cones
from tarsus.viewer.drawn import merged
from tarsus.viewer.ground import ground_shapes, level, terrain_of
from tarsus.viewer.picture import VIEW, Camera, Pictured, Placed, Solid, picture
from tarsus.viewer.placing import ALIKE, APART, square
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.throng import Throng
from tarsus.viewer.track import Contacts, Track

Array = NDArray[Any]
KINDS = (".mp4", ".gif", ".png")
AWAY = 2.7  # of the robot's size: how far the camera stands
SIDE, ABOVE = np.deg2rad(-58.0), np.deg2rad(14.0)  # where it stands, from x about z, and over it
SMOOTH = 0.4  # s: over so long the camera's way is averaged
CROWD_ABOVE = np.deg2rad(30.0)  # where it stands over a crowd
HASTE = 1000  # of the ffmpeg time base


@dataclass(frozen=True)
class Filming:
    """How logs are filmed.

    width, height: pixels; azimuth, elevation: of the camera, rad, None: by how many robots there
    are; distance: in robots' sizes
    follow: the camera goes with the robot; forces: arrows and cones are drawn
    apart: how far robots of several worlds and logs stand from each other, m; 0: ghosts in one
    place; None: that for up to 8, 1.6 times their length for more
    """

    width: int = 800
    height: int = 600
    azimuth: float = float(SIDE)
    elevation: float | None = None
    distance: float = AWAY
    follow: bool = True
    forces: bool = True
    apart: float | None = None

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
        if self.apart is not None and not 0 <= self.apart <= 100:
            raise InvalidValue(f"apart must be from 0 to 100 m, not {self.apart:g}.", "apart")


class Stage:
    """The solids of one or more logs. In one place the first world of the first log is opaque, and
    all others are seen through; apart they stand in a square, that world in its corner.
    """

    def __init__(self, tracks: Sequence[Track], view: Filming) -> None:
        # the ground under where they go
        self.tracks, self.view = list(tracks), view
        first = tracks[0]
        terrain = terrain_of(first.attributes)
        path = np.concatenate([track.base(w)[:, :2] for track in tracks for w in _worlds(track)])
        self._level = level(terrain)
        ground = ground_shapes(terrain, path)
        self._ground = [Placed(Solid(s), np.zeros(3), np.eye(3)) for s in ground]
        # the robots: ghosts in one place, or in a square
        self._scale = Scale(first.size, first.weight)
        worlds = sum(track.worlds for track in tracks)
        apart = self._apart(worlds, bool(ground))
        self._places = apart * square(worlds) if apart else np.zeros((1, 3))
        self._throngs = [Throng(track.robot, worlds) for track in tracks] if apart else []
        looks = [] if apart else tracks
        self._looks = [[Solid(s) for s in drawn_shapes(track.robot)] for track in looks]
        # the camera's way
        way = first.base()
        step = float(np.median(np.diff(first.time))) if len(first.time) > 1 else 1.0
        self._way = _smoothed(way, max(round(SMOOTH / max(step, 1e-9)), 1))
        if not view.follow:
            self._way = np.tile((way.min(0) + way.max(0)) / 2, (len(way), 1))
        if first.robot.floating:  # at its middle, not its trunk
            self._way[:, 2] = np.median(way[:, 2]) + first.middle
        roam = 0.0 if view.follow else float(np.ptp(way[:, :2], axis=0).max())
        self._away = view.distance * float(first.extent.max()) + roam

    def _apart(self, worlds: int, uneven: bool) -> float:
        """How far the robots stand from each other, m."""
        asked = self.view.apart
        if asked is not None:
            if asked and uneven:
                raise Unsupported(
                    "apart needs level ground, but this log's terrain is uneven: leave it out.",
                    "apart",
                )
            return asked if worlds > 1 else 0.0
        if uneven and worlds > ALIKE:
            text = (
                f"only {ALIKE} of {worlds} worlds are drawn: on uneven ground, all robots are drawn"
                " in the same place."
            )
            warnings.warn(TarsusWarning(text, "worlds-not-drawn", "world"), stacklevel=3)
        tidy = APART * float(self.tracks[0].extent.max())
        return tidy if worlds > ALIKE and not uneven else 0.0

    def frame(self, time: float) -> NDArray[np.uint8]:
        """The picture (height, width, 3) at a time, s."""
        placed = [*self._ground, *(self._crowd(time) if self._throngs else self._ghosts(time))]
        # forces: of the first robot, or of a few that stand apart
        step = self.tracks[0].step_at(time)
        if self.view.forces:
            few = self._throngs and len(self._places) <= ALIKE
            for contacts, at in self._touching(time) if few else self._touching(time)[:1]:
                for shapes, opaque in ((arrows, True), (cones, False)):
                    here = merged(shapes(contacts, self._scale))
                    placed += [Placed(Solid(s), at, np.eye(3), opaque) for s in here]
        return picture(Pictured(placed, self._level), self._camera(step))

    def _ghosts(self, time: float) -> list[Placed]:
        """Robots in one place, the first one last, so that it is in front of no ghost."""
        placed = []
        for number, track in enumerate(self.tracks):
            positions, rotations = track.poses(track.step_at(time))
            for world in _worlds(track):
                opaque = number == 0 and world == 0
                placed += [
                    Placed(s, positions[world, s.body], rotations[world, s.body], opaque)
                    for s in self._looks[number]
                ]
        return placed

    def _crowd(self, time: float) -> list[Placed]:
        """Robots that stand apart."""
        placed, first = [], 0
        for throng, track in zip(self._throngs, self.tracks, strict=True):
            step = track.step_at(time)
            positions, rotations = track.poses(step)
            places = self._places[first : first + track.worlds, None]
            placed += throng.placed(track.q[step], positions + places, rotations)
            first += track.worlds
        return placed

    def _touching(self, time: float) -> list[tuple[Contacts, Array]]:
        """The contacts of each robot, and where it stands (3,), m."""
        every = [
            track.contacts_at(track.step_at(time), world)
            for track in self.tracks
            for world in _worlds(track)
        ]
        return list(zip(every, self._places, strict=False))

    def _camera(self, step: int) -> Camera:
        # where it looks from
        view, above = self.view, self.view.elevation
        if above is None:
            above = ABOVE if len(self._places) <= ALIKE else CROWD_ABOVE
        direction = np.array(
            [
                np.cos(above) * np.cos(view.azimuth),
                np.cos(above) * np.sin(view.azimuth),
                np.sin(above),
            ]
        )
        # where and as far away as it must be to see all who stand apart
        camera = Camera(direction, np.zeros(3), view.width, view.height)
        aside, up, near = (self._places @ camera.axes.T * [1, 1, -1]).T
        wide, high = VIEW / 2 * view.width / view.height, VIEW / 2
        away = self._away + max(_needed(aside, near, wide), _needed(up, near, high))
        shift = [_between(aside, away - near), _between(up, away - near), -away]
        eye = np.array(shift) @ camera.axes + self._way[step]
        return replace(camera, eye=eye, target=eye - away * direction)


def _needed(places: Array, near: Array, slope: float) -> float:
    """How far from the origin, m, a camera that opens by a slope to both sides sees all points at
    places (n,) beside its axis, m, so much nearer (n,) than the origin, wherever the axis is.
    """
    return float((slope * near + places).max() + (slope * near - places).max()) / (2 * slope)


def _between(places: Array, depth: Array) -> float:
    """Where the axis goes, m, that sees points at places (n,) and depths (n,), m, as far to one
    side as to the other.
    """
    axis = 0.0
    for _ in range(20):
        seen = (places - axis) / depth
        axis += float(seen.max() + seen.min()) / 2 * float(depth.min())
    return axis


def _worlds(track: Track) -> range:
    """The worlds of a log that are drawn in one place."""
    return range(min(track.worlds, ALIKE))


def _smoothed(way: Array, steps: int) -> Array:
    """A moving average of (n, 3) over some steps."""
    steps = min(steps, len(way))
    padded = np.concatenate(
        [np.tile(way[:1], (steps // 2, 1)), way, np.tile(way[-1:], (steps - steps // 2 - 1, 1))]
    )
    total = np.cumsum(np.concatenate([np.zeros((1, 3)), padded]), axis=0)
    return (total[steps:] - total[:-steps]) / steps


def times(track: Track, rate: float, speed: float) -> Array:
    """The times (n,), s, of a film's frames: `rate` a second, `speed` times as fast as real."""
    for name, value in (("rate", rate), ("speed", speed)):
        if not 1e-3 <= value <= 1e3:
            raise InvalidValue(f"{name} must be from 0.001 to 1000, not {value:g}.", name)
    first, last = float(track.time[0]), float(track.time[-1])
    return first + np.arange(int((last - first) * rate / speed + 1e-9) + 1) * speed / rate


def write(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """A film of frames (height, width, 3) at a rate, 1/s: .mp4 or .gif, whole or not at all."""
    with atomic_write(path) as temporary:
        (_mp4 if path.suffix == ".mp4" else _gif)(frames, temporary, rate)


def save(image: NDArray[np.uint8], path: Path) -> None:
    """One picture (height, width, 3) as .png, whole or not at all."""
    library = needed_library("PIL.Image", "writing a picture", "view")
    with atomic_write(path) as temporary:
        library.fromarray(image).save(temporary, format="PNG", optimize=True)


def _mp4(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """H.264, which every browser plays."""
    av = needed_library("av", "writing an .mp4", "view")
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as film:
        stream: Any = None
        for image in frames:
            if stream is None:
                fraction = Fraction(rate).limit_denominator(HASTE)
                stream = film.add_stream("libx264", rate=fraction, options={"crf": "20"})
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)


def _gif(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """An animated GIF, repeated for ever, one palette for all frames."""
    library = needed_library("PIL.Image", "writing a .gif", "view")
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


def labeled(image: NDArray[np.uint8], text: str) -> NDArray[np.uint8]:
    """The picture with a line of text in its upper left corner."""
    library = needed_library("PIL.Image", "writing on a picture", "view")
    drawing = needed_library("PIL.ImageDraw", "writing on a picture", "view")
    fonts = needed_library("PIL.ImageFont", "writing on a picture", "view")
    size = max(image.shape[0] // 30, 10)
    made = library.fromarray(image)
    font = fonts.load_default(size)
    drawing.Draw(made).text((size // 2, size // 2), text, fill=(40, 44, 52), font=font)
    return np.asarray(made)


def filmed(
    stage: Stage, at: Array, speed: float, told: Callable[[float], None] | None = None
) -> Iterator[NDArray[np.uint8]]:
    """The frames of a film at times (n,), s, each with its time written on it."""
    pace = "" if speed == 1 else f", {speed:g} times as fast"
    for k, time in enumerate(at):
        yield labeled(stage.frame(float(time)), f"{time:.2f} s{pace}")
        if told:
            told((k + 1) / len(at))


def strip(stage: Stage, at: Array) -> NDArray[np.uint8]:
    """The pictures at times (n,), s, side by side."""
    return np.concatenate([labeled(stage.frame(float(t)), f"{t:.2f} s") for t in at], axis=1)
