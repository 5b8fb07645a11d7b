"""Films, pictures and strips of logs: frames drawn by `picture`, written as mp4, gif or png."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.files import replacing
from tarsus.model.files import needed_library
from tarsus.viewer.arrows import Scale, arrows, cones
from tarsus.viewer.drawn import merged
from tarsus.viewer.ground import ground_shapes, level, terrain_of
from tarsus.viewer.picture import Camera, Pictured, Placed, Solid, picture
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import Track

Array = NDArray[Any]
KINDS = (".mp4", ".gif", ".png")
AWAY = 2.7  # of the robot's size: how far the camera stands
SIDE, ABOVE = np.deg2rad(-58.0), np.deg2rad(14.0)  # where it stands, from x about z, and over it
SMOOTH = 0.4  # s: over so long the camera's way is averaged
MOST_GHOSTS = 8
HASTE = 1000  # of the ffmpeg time base


@dataclass(frozen=True)
class Filming:
    """How logs are filmed.

    width, height: pixels; azimuth, elevation: of the camera, rad; distance: in robots' sizes
    follow: the camera goes with the robot; forces: arrows and cones are drawn
    """

    width: int = 800
    height: int = 600
    azimuth: float = float(SIDE)
    elevation: float = float(ABOVE)
    distance: float = AWAY
    follow: bool = True
    forces: bool = True

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            if not 16 <= value <= 8192 or value % 2:
                raise TarsusError(f"{name} must be an even number from 16 to 8192, not {value}.")
        if not 0.1 <= self.distance <= 1000:
            raise TarsusError(f"distance must lie between 0.1 and 1000, not {self.distance:g}.")
        if not abs(self.elevation) < np.deg2rad(89.0):
            raise TarsusError(
                f"elevation must lie between -89 and 89, not {np.rad2deg(self.elevation):g}."
            )


class Stage:
    """The solids of one or more logs; the first world of the first log is opaque, all others are
    seen through.
    """

    def __init__(self, tracks: Sequence[Track], view: Filming) -> None:
        # the robots
        self.tracks, self.view = list(tracks), view
        first = tracks[0]
        self._looks = [[Solid(s) for s in drawn_shapes(track.robot)] for track in tracks]
        self._scale = Scale(first.size, first.weight)
        # the ground under where they go
        terrain = terrain_of(first.attributes)
        path = np.concatenate([track.base(w)[:, :2] for track in tracks for w in _worlds(track)])
        self._level = level(terrain)
        self._ground = [
            Placed(Solid(s), np.zeros(3), np.eye(3)) for s in ground_shapes(terrain, path)
        ]
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

    def frame(self, time: float) -> NDArray[np.uint8]:
        """The picture (height, width, 3) at a time, s."""
        # every robot where it is, the first one last, so that it is in front of no ghost
        placed = list(self._ground)
        for number, track in enumerate(self.tracks):
            step = track.step_at(time)
            positions, rotations = track.poses(step)
            for world in _worlds(track):
                opaque = number == 0 and world == 0
                placed += [
                    Placed(s, positions[world, s.body], rotations[world, s.body], opaque)
                    for s in self._looks[number]
                ]
        # its forces
        step = self.tracks[0].step_at(time)
        if self.view.forces:
            contacts = self.tracks[0].contacts_at(step)
            for shapes, opaque in ((arrows, True), (cones, False)):
                here = merged(shapes(contacts, self._scale))
                placed += [Placed(Solid(s), np.zeros(3), np.eye(3), opaque) for s in here]
        return picture(Pictured(placed, self._level), self._camera(step))

    def _camera(self, step: int) -> Camera:
        view, target = self.view, self._way[step]
        direction = np.array(
            [
                np.cos(view.elevation) * np.cos(view.azimuth),
                np.cos(view.elevation) * np.sin(view.azimuth),
                np.sin(view.elevation),
            ]
        )
        return Camera(target + self._away * direction, target, view.width, view.height)


def _worlds(track: Track) -> range:
    """The worlds of a log that are drawn."""
    return range(min(track.worlds, MOST_GHOSTS))


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
    for name, value in (("frames per second", rate), ("speed", speed)):
        if not 1e-3 <= value <= 1e3:
            raise TarsusError(f"{name} must lie between 0.001 and 1000, not {value:g}.")
    first, last = float(track.time[0]), float(track.time[-1])
    return first + np.arange(int((last - first) * rate / speed + 1e-9) + 1) * speed / rate


def write(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """A film of frames (height, width, 3) at a rate, 1/s: .mp4 or .gif, whole or not at all."""
    with replacing(path) as temporary:
        (_mp4 if path.suffix == ".mp4" else _gif)(frames, temporary, rate)


def save(image: NDArray[np.uint8], path: Path) -> None:
    """One picture (height, width, 3) as .png, whole or not at all."""
    library = needed_library("PIL.Image", "writing a picture")
    with replacing(path) as temporary:
        library.fromarray(image).save(temporary, format="PNG", optimize=True)


def _mp4(frames: Iterator[NDArray[np.uint8]], path: Path, rate: float) -> None:
    """H.264, which every browser plays."""
    av = needed_library("av", "writing an .mp4")
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
    library = needed_library("PIL.Image", "writing a .gif")
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
    library = needed_library("PIL.Image", "writing on a picture")
    drawing = needed_library("PIL.ImageDraw", "writing on a picture")
    fonts = needed_library("PIL.ImageFont", "writing on a picture")
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
