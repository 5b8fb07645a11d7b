"""`tarsus render`: render logs to a video, an image or a strip of images, without a display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    ArgumentCheck,
    Command,
    Flag,
    Number,
    Trust,
    argument,
    file_record,
    number_argument,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.viewer.video import RenderSettings

STRIP_FRAME_SIZE = (320, 360)  # pixels, of one frame of a strip


@dataclass(frozen=True)
class Render(Command):
    """Render logs to a video (.mp4, .gif) or an image (.png).

    No display or GPU is needed. With several logs or worlds, the first robot is solid and the
    others are transparent. More than eight robots stand on a square grid, and those that have
    fallen are red. This command needs the extra `view`; `tarsus doctor` shows how to install it.
    """

    position: ClassVar[int] = 16
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus render out/mini_cheetah.nc trot.mp4": "render a video",
        "tarsus render out/mini_cheetah.nc slow.gif --speed 0.25 --size 480x320": "render in slow"
        " motion",
        "tarsus render out/mini_cheetah.nc strip.png --strip 5": "render five frames in a row",
        "tarsus render a.nc b.nc pair.mp4 --spacing 0.8": "show two logs side by side",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Content": "robot trust times strip spacing hide_forces",
        "Video": "rate speed",
        "Camera": "size azimuth elevation distance fixed_camera",
    }

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], argument("LOG ... OUT")]
    """One or more logs of `tarsus run` (.nc), then the file to write: .mp4, .gif or .png."""
    robot: Annotated[str | None, argument("ROBOT"), ArgumentCheck(robots.require)] = None
    """Use this robot instead of the one that the logs name."""
    times: Annotated[str | None, argument("SECONDS,...")] = None
    """Time of an image, or several times for a strip. (default: the middle of the log)"""
    strip: Annotated[int | None, argument("COUNT")] = None
    """Number of frames in a strip, evenly spaced over the log."""
    spacing: Annotated[float | None, number_argument("METERS"), argument("METERS")] = None
    """Distance between the robots of several worlds or logs. (default: 0 for up to eight robots,
    else 1.6 times their length)"""
    rate: Annotated[float, number_argument("1/S"), argument("1/S")] = 25.0
    """Frames per second of the video."""
    speed: Annotated[float, number_argument("FACTOR"), argument("FACTOR")] = 1.0
    """Playback speed relative to real time; 0.25 is slow motion."""
    size: Annotated[str, argument("WIDTHxHEIGHT")] = ""
    """Size in pixels. (default: 640x480, or 320x360 for each frame of a strip)"""
    azimuth: Annotated[float, number_argument("DEGREES"), argument("DEGREES")] = -58.0
    """Direction of the camera about z, from the x axis."""
    elevation: Annotated[float | None, number_argument("DEGREES"), argument("DEGREES")] = None
    """Angle of the camera above the horizontal. (default: 14, or 30 for a grid of robots)"""
    distance: Number = None
    """Distance of the camera, in robot lengths. (default: 2.7)"""
    fixed_camera: Flag = False
    """Keep the camera still instead of following the robot."""
    hide_forces: Flag = False
    """Hide contact forces and friction cones."""
    trust: Trust = ()
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.simulation.recording.log import read_log
        from tarsus.viewer import video
        from tarsus.viewer.track import build_track

        if len(self.files) < 2:
            raise InvalidValue(
                "give one or more logs, then the file to write: LOG.nc ... OUT.mp4.", "files"
            )
        *logs, out = self.files
        if out.suffix not in video.SUFFIXES:
            raise InvalidValue(
                f"cannot write {out.name!r}: give a file that ends in {', '.join(video.SUFFIXES)}.",
                out,
            )
        picture = out.suffix == ".png"
        if not picture and (self.times or self.strip):
            flag = "--times" if self.times else "--strip"
            raise IncompatibleOptions(
                f"{flag} applies only to images: give a .png file to write.", flag
            )
        view = self._create_settings(picture)
        check_writable(out.parent)
        # read the logs
        robot = self.base.load(self.robot) if self.robot else None
        tracks = [build_track(read_log(path), robot) for path in logs]
        first, last = float(tracks[0].time[0]), float(tracks[0].time[-1])
        times = (
            self._times(first, last) if picture else video.times(tracks[0], self.rate, self.speed)
        )
        stage = video.Stage(tracks, view)
        # render
        with self.progress() as progress:
            progress.show_stage(f"rendering {out.name}")
            if picture:
                video.save(video.strip(stage, times), out)
            else:
                frames = video.render_frames(
                    stage, times, self.speed, progress.create_callback(1.0)
                )
                video.write(frames, out, self.rate)
        print_json({"written": [file_record(out)]}) if self.json else print(f"wrote {out}")
        return 0

    def _create_settings(self, picture: bool) -> RenderSettings:
        import numpy as np

        from tarsus.viewer.video import CAMERA_DISTANCE, RenderSettings

        several = picture and (self.strip or "," in (self.times or ""))
        width, height = STRIP_FRAME_SIZE if several else (640, 480)
        if self.size:
            words = self.size.lower().split("x")
            if len(words) != 2 or not all(word.isdecimal() for word in words):
                raise InvalidValue(
                    f"--size must be WIDTHxHEIGHT, such as 640x480, not {self.size!r}.", "--size"
                )
            width, height = map(int, words)
        return RenderSettings(
            width,
            height,
            float(np.deg2rad(self.azimuth)),
            None if self.elevation is None else float(np.deg2rad(self.elevation)),
            CAMERA_DISTANCE if self.distance is None else self.distance,
            follow=not self.fixed_camera,
            forces=not self.hide_forces,
            spacing=self.spacing,
        )

    def _times(self, first: float, last: float) -> Any:
        """Return the times of an image or a strip; raise TarsusError for a time outside the log."""
        import numpy as np

        if self.times and self.strip:
            raise IncompatibleOptions(
                "--times cannot be combined with --strip: give one of them.", "--times"
            )
        if self.strip is not None:
            if not 1 <= self.strip <= 100:
                raise InvalidValue(f"--strip must be from 1 to 100, not {self.strip}.", "--strip")
            return np.linspace(first, last, self.strip)
        try:
            times = (
                [float(t) for t in self.times.split(",")] if self.times else [(first + last) / 2]
            )
        except ValueError:
            raise InvalidValue(
                f"--times must be numbers separated by commas, not {self.times!r}.", "--times"
            ) from None
        slack = 1e-9 + 0.01 * (last - first)
        for time in times:
            if not first - slack <= time <= last + slack:
                raise InvalidValue(
                    f"--times must be within the log, {first:g} to {last:g} s, not {time:g}.",
                    "--times",
                )
        return np.array(times)
