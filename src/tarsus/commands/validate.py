"""`tarsus validate`: closed-form scenes for every law; real recordings with `--real`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tarsus.commands._mujoco_flags import SettingNames
from tarsus.commands.base import (
    FAILED,
    LAWS,
    STEPPERS,
    Checked,
    Command,
    File,
    Flag,
    Folder,
    called,
    name_of,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue

if TYPE_CHECKING:
    from tarsus.validation.real.base import RealOutcome

PEER, SCENES, REAL = "mujoco", "tarsus.validation.scenes", "tarsus.validation.real"
ENGINES, OWN_ENGINE = "tarsus.engines", "tarsus"


def _law() -> Checked:
    """Return what `--law` takes: a law, or another engine."""
    from tarsus import registry

    engines = (name for name in registry.names(ENGINES) if name != OWN_ENGINE)
    return name_of("law", LAWS, *engines)


LAW_OR_ENGINE = Checked(lambda name: _law().check(name), lambda: _law().names())


@dataclass(frozen=True)
class Validate(Command):
    """Test laws and steppers on scenes whose outcome is known, or on recordings.

    MuJoCo runs next to them at its named settings. A law is judged by what it claims to model, and
    so is MuJoCo. Exits with 1 if a law misses its tolerance; MuJoCo counts only with `--law
    mujoco`. With `--real` laws are compared with recordings, at given and at identified parameters
    (docs/real_world.md).
    """

    place: ClassVar[int] = 40
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus validate --law moreau": "one law in all scenes",
        "tarsus validate --scene rolling_cylinder": "one scene under all laws",
        "tarsus validate --scene creep --unclaimed": "also what laws do not claim",
        "tarsus validate --law my_law.py": "a law of your own",
        "tarsus validate --real cube_tosses --out out": "laws and recordings",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Scenes": "law scene stepper mujoco unclaimed workers",
        "Recordings": "real data out candidates at",
    }

    law: Annotated[str | None, called("NAME"), LAW_OR_ENGINE] = None
    """Contact law (`tarsus list laws`), path to a Python file with your own, or mujoco; by default
    all."""
    scene: Annotated[str | None, called("NAME"), name_of("scene", SCENES)] = None
    """Scene (`tarsus list scenes`); by default all."""
    stepper: Annotated[str | None, called("NAME"), name_of("stepper", STEPPERS)] = None
    """Time-stepping method (`tarsus list steppers`); by default all."""
    mujoco: SettingNames = None
    """MuJoCo's settings: default (its own), tuned (its tuning guide's), discrete (tuned with the
    newer integrator); by default all."""
    unclaimed: Flag = False
    """Also measure what a law or MuJoCo does not claim to model; these rows are not judged."""
    workers: Annotated[int | None, called("NUMBER")] = None
    """How many processes at once; by default as many as there are cores, if there is enough to
    do. The rows are the same."""
    real: Annotated[str | None, called("NAME"), name_of("real experiment", REAL)] = None
    """Real experiment, such as cube_tosses, instead of scenes."""
    data: File = None
    """With --real: the file with its recordings, by default the one that its environment variable
    names."""
    out: Folder = None
    """With --real: folder for NAME.html and NAME.json."""
    candidates: Annotated[int, called("NUMBER")] = 96
    """With --real: sets of parameters tried for each law."""
    at: File = None
    """With --real: NAME.json of an earlier run; its identified parameters are taken, and none
    identified."""

    def execute(self) -> int:
        if self.real is not None:
            return self._real(self.real)
        for flag, value in (("--data", self.data), ("--out", self.out), ("--at", self.at)):
            if value:
                raise IncompatibleOptions(f"{flag} needs --real NAME.", flag)
        if self.workers is not None and self.workers < 1:
            raise InvalidValue(f"--workers must be at least 1, not {self.workers}.", "--workers")
        from tarsus.mujoco_runs.settings import names_listed
        from tarsus.validation import report, table

        with self.progress() as progress:
            asked = self.law, self.scene, self.stepper, progress.say, self.unclaimed, self.workers
            rows = table.validate(*asked, names_listed(self.mujoco or "all"))
        print_json([row.as_json() for row in rows]) if self.json else report.tell(rows)
        judged = [row for row in rows if row.law not in table.peers() or row.law == self.law]
        return FAILED if any(row.status == table.FAIL for row in judged) else 0

    def _real(self, name: str) -> int:
        """Hold laws against a recording; the page and the data into a folder, if one is named."""
        from tarsus import registry
        from tarsus.files import check_writable, json_text, write_text
        from tarsus.processes import usable_cores
        from tarsus.validation import report
        from tarsus.validation.real.base import RealExperiment, RealRequest

        # what is asked, and whether it can be written
        excluded = {
            "--scene": self.scene,
            "--stepper": self.stepper,
            "--workers": self.workers is not None,
            "--mujoco": self.mujoco,
            "--unclaimed": self.unclaimed,
        }
        for flag, value in excluded.items():
            if value:
                raise IncompatibleOptions(f"{flag} cannot be combined with --real.", flag)
        if self.candidates < 4:
            raise InvalidValue(
                f"--candidates must be at least 4, not {self.candidates}.", "--candidates"
            )
        if self.out is not None:
            check_writable(self.out)
        every = (*registry.names(LAWS), PEER)
        laws = (self.law,) if self.law else every
        at = _identified(self.at) if self.at else None
        # what is found
        experiment = registry.member_class(REAL, "real experiment", name, RealExperiment)()
        with self.progress() as progress:
            tell = progress.say
            threads = usable_cores()
            request = RealRequest(self.data, laws, self.candidates, at, threads=threads, tell=tell)
            found = experiment.measure(request)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            record = json_text(found.record, indent=1)
            files = {self.out / f"{name}.html": found.page, self.out / f"{name}.json": record}
            write_text(files)
        if self.json:
            print_json(found.record["rows"])
        else:
            report.tell_real(found.record["rows"])
            self._written(name, found)
        return 0

    def _written(self, name: str, found: RealOutcome) -> None:
        """Say where the page is."""
        if self.out is None:
            print("no page: --out FOLDER writes one")
        for kind in ("html", "json") if self.out else ():
            print(f"written {self.out}/{name}.{kind}")


def _identified(path: Path) -> dict[str, Any]:
    """Law -> its identified parameters, of an earlier run's file."""
    try:
        laws = json.loads(path.read_text(encoding="utf-8"))["laws"]
        return {law: dict(each["values"]) for law, each in laws.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidFile(
            f"{path} has no identified parameters: give NAME.json from `tarsus validate --real`.",
            path,
        ) from None
