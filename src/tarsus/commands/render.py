"""`tarsus render`: a log as a film, a picture or a strip of pictures, without display or GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    Checked,
    Command,
    Flag,
    Number,
    Trust,
    called,
    number,
    print_json,
    written,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.viewer.film import Filming

TILE = (320, 360)  # pixels of one picture of a strip


@dataclass(frozen=True)
class Render(Command):
    """Make a film (.mp4, .gif) or picture (.png) of logs, with no display or GPU.

    Of several logs, or worlds, the first is solid and the others are seen through; more than eight
    stand apart, in a square, and those that have fallen are red. It needs the extra `view`, which
    `tarsus doctor` shows how to install.
    """

    place: ClassVar[int] = 16
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus render out/mini_cheetah.nc trot.mp4": "a film",
        "tarsus render out/mini_cheetah.nc slow.gif --speed 0.25 --size 480x320": "in slow motion",
        "tarsus render out/mini_cheetah.nc strip.png --strip 5": "five pictures in a row",
        "tarsus render a.nc b.nc pair.mp4 --apart 0.8": "two logs side by side",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Content": "robot trust times strip apart bare",
        "Film": "rate speed",
        "Camera": "size azimuth elevation distance still",
    }

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], called("LOG ... OUT")]
    """Logs of `tarsus run` (.nc), and last the file to write: .mp4, .gif or .png."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot of the logs, in place of the one that they name."""
    times: Annotated[str | None, called("SECONDS,...")] = None
    """Of a picture: one time, or several for a strip; by default the middle of the log."""
    strip: Annotated[int | None, called("COUNT")] = None
    """A strip of so many pictures, evenly over the log."""
    apart: Annotated[float | None, number("METERS"), called("METERS")] = None
    """How far robots of several worlds and logs stand apart; 0: all in one place. By default 0 up
    to eight robots, else 1.6 times their length."""
    rate: Annotated[float, number("1/S"), called("1/S")] = 25.0
    """Frames of a film a second."""
    speed: Annotated[float, number("FACTOR"), called("FACTOR")] = 1.0
    """Times as fast as real: 0.25 is slow motion."""
    size: Annotated[str, called("WIDTHxHEIGHT")] = ""
    """Pixels; by default 640x480, of a strip's pictures 320x360."""
    azimuth: Annotated[float, number("DEGREES"), called("DEGREES")] = -58.0
    """Where the camera stands, from x about z."""
    elevation: Annotated[float | None, number("DEGREES"), called("DEGREES")] = None
    """How high it stands; by default 14, over a crowd 30."""
    distance: Number = None
    """How far, in lengths of the robot; by default 2.7."""
    still: Flag = False
    """The camera does not follow the robot."""
    bare: Flag = False
    """No contact forces and friction cones."""
    trust: Trust = ()
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.simulation.recording.log import read_log
        from tarsus.viewer import film
        from tarsus.viewer.track import track

        # what is asked
        if len(self.files) < 2:
            raise InvalidValue(
                "give one or more logs, then the file to write: LOG.nc ... OUT.mp4.", "files"
            )
        *logs, out = self.files
        if out.suffix not in film.KINDS:
            raise InvalidValue(
                f"cannot write {out.name!r}: give a file that ends in {', '.join(film.KINDS)}.", out
            )
        picture = out.suffix == ".png"
        if not picture and (self.times or self.strip):
            flag = "--times" if self.times else "--strip"
            raise IncompatibleOptions(
                f"{flag} applies only to pictures: name a .png file to write.", flag
            )
        view = self._view(picture)
        check_writable(out.parent)
        # the logs
        own = self.base.load(self.robot) if self.robot else None
        tracks = [track(read_log(path), own) for path in logs]
        first, last = float(tracks[0].time[0]), float(tracks[0].time[-1])
        at = self._times(first, last) if picture else film.times(tracks[0], self.rate, self.speed)
        stage = film.Stage(tracks, view)
        # the file
        with self.progress() as progress:
            progress.say(f"drawing {out.name}")
            if picture:
                film.save(film.strip(stage, at), out)
            else:
                frames = film.filmed(stage, at, self.speed, progress.towards(1.0))
                film.write(frames, out, self.rate)
        print_json({"written": [written(out)]}) if self.json else print(f"written {out}")
        return 0

    def _view(self, picture: bool) -> Filming:
        import numpy as np

        from tarsus.viewer.film import AWAY, Filming

        several = picture and (self.strip or "," in (self.times or ""))
        width, height = TILE if several else (640, 480)
        if self.size:
            words = self.size.lower().split("x")
            if len(words) != 2 or not all(word.isdecimal() for word in words):
                raise InvalidValue(
                    f"--size must be WIDTHxHEIGHT, such as 640x480, not {self.size!r}.", "--size"
                )
            width, height = map(int, words)
        return Filming(
            width,
            height,
            float(np.deg2rad(self.azimuth)),
            None if self.elevation is None else float(np.deg2rad(self.elevation)),
            AWAY if self.distance is None else self.distance,
            follow=not self.still,
            forces=not self.bare,
            apart=self.apart,
        )

    def _times(self, first: float, last: float) -> Any:
        """The times of a picture or a strip; TarsusError for any outside the log."""
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
            at = [float(t) for t in self.times.split(",")] if self.times else [(first + last) / 2]
        except ValueError:
            raise InvalidValue(
                f"--times must be numbers separated by commas, not {self.times!r}.", "--times"
            ) from None
        slack = 1e-9 + 0.01 * (last - first)
        for time in at:
            if not first - slack <= time <= last + slack:
                raise InvalidValue(
                    f"--times must be within the log, {first:g} to {last:g} s, not {time:g}.",
                    "--times",
                )
        return np.array(at)
