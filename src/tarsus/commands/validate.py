"""`tarsus validate`: test laws on scenes with known outcomes, or on real recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tarsus.commands._mujoco_flags import SettingNames
from tarsus.commands.base import (
    FAILED,
    LAWS,
    STEPPERS,
    ArgumentCheck,
    Command,
    File,
    Flag,
    Folder,
    argument,
    name_check,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue

PEER, SCENES, REAL = "mujoco", "tarsus.validation.scenes", "tarsus.validation.real"
ENGINES, OWN_ENGINE = "tarsus.engines", "tarsus"


def _create_law_check() -> ArgumentCheck:
    """Create the check of `--law`: a contact law, or another engine."""
    from tarsus import registry

    engines = (name for name in registry.names(ENGINES) if name != OWN_ENGINE)
    return name_check("law", LAWS, *engines)


LAW_OR_ENGINE = ArgumentCheck(
    lambda name: _create_law_check().check(name), lambda: _create_law_check().names()
)


@dataclass(frozen=True)
class Validate(Command):
    """Test laws and steppers on scenes with known outcomes, or on recordings.

    Laws and MuJoCo are judged only on the effects that they claim to model. The exit code is 1 if a
    law misses its tolerance; MuJoCo counts only with `--law mujoco`.

    With `--real`, laws are compared with recordings of a real experiment, with given and with
    identified parameters (docs/real_world.md).
    """

    position: ClassVar[int] = 40
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus validate --law moreau": "test one law in all scenes",
        "tarsus validate --scene rolling_cylinder": "test all laws in one scene",
        "tarsus validate --scene creep --unclaimed": "include effects that laws do not claim",
        "tarsus validate --law my_law.py": "test your own law",
        "tarsus validate --real cube_tosses --out out": "compare laws with recordings",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Scene": "law scene stepper mujoco unclaimed workers",
        "Recording": "real data out candidates identified",
    }

    law: Annotated[str | None, argument("NAME"), LAW_OR_ENGINE] = None
    """Contact law (`tarsus list laws`), path to your own Python file, or another engine such as
    mujoco (`tarsus list engines`). (default: all)"""
    scene: Annotated[str | None, argument("NAME"), name_check("scene", SCENES)] = None
    """Scene (`tarsus list scenes`). (default: all)"""
    stepper: Annotated[str | None, argument("NAME"), name_check("stepper", STEPPERS)] = None
    """Time-stepping method (`tarsus list steppers`). (default: all)"""
    mujoco: SettingNames = None
    """MuJoCo settings: default (MuJoCo's own), tuned (as its tuning guide recommends) or discrete
    (tuned, with the newer integrator). (default: all)"""
    unclaimed: Flag = False
    """Also measure effects that a law, or MuJoCo, does not claim to model; these rows are not
    judged."""
    workers: Annotated[int | None, argument("NUMBER")] = None
    """Number of processes; it does not affect the results. (default: all available cores, for large
    tables)"""
    real: Annotated[str | None, argument("NAME"), name_check("real experiment", REAL)] = None
    """Compare with this real experiment instead of scenes, such as cube_tosses."""
    data: File = None
    """With --real, file with the recordings. (default: the file that the experiment's environment
    variable names)"""
    out: Folder = None
    """With --real, write the report NAME.html and the data NAME.json to this folder."""
    candidates: Annotated[int, argument("NUMBER")] = 96
    """With --real, number of parameter sets to try for each law."""
    identified: File = None
    """With --real, use the identified parameters in this NAME.json of an earlier run instead of
    identifying them."""

    def execute(self) -> int:
        if self.real is not None:
            return self._validate_recordings(self.real)
        for flag, value in (
            ("--data", self.data),
            ("--out", self.out),
            ("--identified", self.identified),
        ):
            if value:
                raise IncompatibleOptions(f"{flag} needs --real NAME.", flag)
        if self.workers is not None and self.workers < 1:
            raise InvalidValue(f"--workers must be at least 1, not {self.workers}.", "--workers")
        from tarsus.mujoco_runs.settings import parse_names
        from tarsus.validation import report, table

        with self.progress() as progress:
            choice = (
                self.law,
                self.scene,
                self.stepper,
                progress.show_stage,
                self.unclaimed,
                self.workers,
            )
            rows = table.validate(*choice, parse_names(self.mujoco or "all"))
        print_json([row.as_json() for row in rows]) if self.json else report.print_rows(rows)
        judged = [row for row in rows if row.law not in table.peers() or row.law == self.law]
        return FAILED if any(row.status == table.FAIL for row in judged) else 0

    def _validate_recordings(self, name: str) -> int:
        """Compare laws with recordings; write the page and the data if `out` is set."""
        from tarsus import registry
        from tarsus.files import check_writable, json_text, write_text
        from tarsus.processes import usable_cores
        from tarsus.validation import report
        from tarsus.validation.real.base import RealExperiment, RealRequest

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
        laws = (self.law,) if self.law else (*registry.names(LAWS), PEER)
        parameters = _read_identified(self.identified) if self.identified else None
        # measure
        experiment = registry.member_class(REAL, "real experiment", name, RealExperiment)()
        with self.progress() as progress:
            say, threads = progress.show_stage, usable_cores()
            request = RealRequest(
                self.data, laws, self.candidates, parameters, threads=threads, on_progress=say
            )
            outcome = experiment.measure(request)
        # write and print
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            record = json_text(outcome.record, indent=1)
            files = {self.out / f"{name}.html": outcome.page, self.out / f"{name}.json": record}
            write_text(files)
        if self.json:
            print_json(outcome.record["rows"])
        else:
            report.print_real(outcome.record["rows"])
            self._print_files(name)
        return 0

    def _print_files(self, name: str) -> None:
        """Print the paths of the page and the data."""
        if self.out is None:
            print("to write a report page, add --out FOLDER")
        for kind in ("html", "json") if self.out else ():
            print(f"wrote {self.out}/{name}.{kind}")


def _read_identified(path: Path) -> dict[str, Any]:
    """Read the identified parameters of each law from the file of an earlier run."""
    try:
        laws = json.loads(path.read_text(encoding="utf-8"))["laws"]
        return {law: dict(each["values"]) for law, each in laws.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidFile(
            f"{path} has no identified parameters: give NAME.json from `tarsus validate --real`.",
            path,
        ) from None
