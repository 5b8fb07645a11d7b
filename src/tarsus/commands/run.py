"""`tarsus run`: simulate a robot on the ground; a summary, a log and a picture."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tarsus.commands.base import (
    FAILED,
    INTERRUPTED,
    Command,
    Flag,
    Folder,
    GaitName,
    LawName,
    Number,
    RobotName,
    Seconds,
    StepperName,
    TerrainName,
    called,
    number,
    print_json,
    typed,
)
from tarsus.errors import TarsusError, TarsusWarning

if TYPE_CHECKING:
    import xarray as xr

    from tarsus.simulation.simulation import Simulation


@dataclass(frozen=True)
class Run(Command):
    """Simulate a robot; print a summary, write a log and a picture."""

    place: ClassVar[int] = 10

    robot: RobotName
    law: LawName = "moreau"
    gait: GaitName = "auto"
    duration: Seconds = 10.0
    """Simulated time."""
    dt: Seconds = 0.0025
    """Length of a time step."""
    slope: Annotated[float, number("DEGREES"), called("DEGREES")] = 0.0
    """Incline of the ground, rising along x."""
    friction: Number = None
    """Friction coefficient; by default the law's own."""
    set: Annotated[tuple[str, ...], called("NAME=VALUE ...")] = ()
    """Parameters of the law, gait, stepper or terrain (`tarsus list --parameters`), such as
    kinetic=0.8 solver=sor kp=60."""
    contacts: Annotated[str | None, called("NAME")] = None
    """Points that may touch the ground: a name, a pattern such as *_foot, or all; by default all up
    to 16, else those of the feet."""
    coordinates: Annotated[str, called("KIND")] = "minimal"
    """Joints kept as constraints: minimal (none), extended (at the base), maximal (all);
    docs/coordinates.md."""
    speed: Annotated[float | None, number("M/S"), called("M/S")] = None
    """Commanded forward speed; by default the gait's own."""
    terrain: TerrainName = "plane"
    stepper: StepperName = "midpoint"
    precision: Literal["float64", "float32"] = "float64"
    """Number format of the simulation."""
    out: Folder = None
    """Write the log ROBOT.nc (netCDF) and the picture ROBOT.png to this folder."""
    json: Flag = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.simulation.recording.divergence import Diverged
        from tarsus.simulation.recording.interrupt import Interrupted

        # make the simulation, keeping every warning as a notice
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TarsusWarning)
            simulation, notices = _simulation(self)
        notices = [
            *(str(w.message) for w in caught if issubclass(w.category, TarsusWarning)),
            *notices,
        ]
        if self.out:
            check_writable(self.out)
        # run it; a run that diverged or was interrupted leaves what came before
        failure: dict[str, str] = {}
        try:
            log = _run(simulation, self)
        except (Diverged, Interrupted) as stop:
            if stop.log is None:
                raise
            log = stop.log
            failure = {"diverged" if isinstance(stop, Diverged) else "interrupted": str(stop)}
        told = [text for text in log.attrs["warnings"].splitlines() if text not in failure.values()]
        log.attrs["warnings"] = "\n".join([*notices, *told])
        log.attrs["command_line"] = shlex.join(["tarsus", *typed.get()])
        # sum it up, write and print it
        from tarsus.simulation.recording.summary import summary

        numbers = summary(simulation, log) | failure
        files = _write(self, simulation, log, numbers) if self.out else []
        if self.json:
            print_json(numbers)
        else:
            _tell(numbers, files)
        return _end(failure, files)


def _end(failure: Mapping[str, str], files: Sequence[Path]) -> int:
    """Why the run ended early, if it did, on standard error; returns the exit code."""
    kept = f"; the log up to there is in {files[0]}" if files else ""
    for text in failure.values():
        print(f"error: {text.removesuffix('.')}{kept}.", file=sys.stderr)
    return INTERRUPTED if "interrupted" in failure else FAILED if failure else 0


def _simulation(given: Run) -> tuple[Simulation, list[str]]:
    """The simulation asked for, and a notice for each argument that it ignores."""
    import numpy as np

    from tarsus.parameters import named
    from tarsus.simulation import resolve
    from tarsus.simulation.options import Options
    from tarsus.simulation.simulation import Simulation
    from tarsus.terrain.slope import Slope

    # the law, its friction replaced
    notices: list[str] = []
    law = resolve.law(given.law)
    if given.friction is not None:
        names = named(type(law), "friction")
        if not names:
            notices.append(
                f"the law {given.law!r} has no friction coefficient: --friction is ignored."
            )
        else:
            law = replace(law, **{names[0]: given.friction})
    # the ground
    if given.slope and given.terrain != "plane":
        raise TarsusError("--slope inclines the plane; it does not go with another --terrain.")
    if not abs(given.slope) < 90:
        raise TarsusError(f"--slope must be less than 90 degrees, not {given.slope:g}.")
    terrain = Slope(angle=np.deg2rad(given.slope)) if given.slope else given.terrain
    # the simulation, and the speed that its gait is to walk at
    options: Options = {
        "precision": given.precision,
        "coordinates": given.coordinates,
        "parameters": given.set,
    }
    if given.contacts is not None:
        options["contacts"] = given.contacts
    simulation = Simulation(
        given.robot, law, given.stepper, terrain, given.gait, given.dt, **options
    )
    if given.speed is not None:
        simulation.set(command={"speed": given.speed})
        _check_speed(simulation, given.speed)
    return simulation, notices


def _check_speed(simulation: Simulation, speed: float) -> None:
    """TarsusError for a speed that the gait's legs cannot reach."""
    from tarsus.control.base import Controller

    gait = simulation.controller
    assert isinstance(gait, Controller)  # it takes commands
    fastest = gait.fastest(simulation.robot)
    if not abs(speed) <= fastest:
        raise TarsusError(
            f"--speed {speed:g} m/s is out of reach: the legs of {simulation.robot.name!r} are too"
            f" short for more than {fastest:.2g} m/s at the gait's frequency;"
            " --set frequency=... raises that."
        )


def _run(simulation: Simulation, given: Run) -> xr.Dataset:
    """Run with a progress bar on a terminal."""
    if given.json or not sys.stderr.isatty():
        return simulation.run(given.duration)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(simulation.robot.name, total=given.duration)
        return simulation.run(given.duration, lambda seconds: bar.update(task, completed=seconds))


def _write(
    given: Run, simulation: Simulation, log: xr.Dataset, numbers: dict[str, Any]
) -> list[Path]:
    """The log as netCDF and the picture, each whole or not at all."""
    from tarsus.files import file_name
    from tarsus.simulation.recording.log import save as save_log
    from tarsus.viewer.figure import run_figure, save

    assert given.out is not None
    given.out.mkdir(parents=True, exist_ok=True)
    name, log_file = simulation.robot.name, given.out / f"{file_name(simulation.robot.name)}.nc"
    title = (
        f"{name}, {numbers['law']}, dt {1e3 * given.dt:g} ms: {numbers['distance']:.2f} m in"
        f" {numbers['duration']:g} s"
    )
    save_log(log, log_file)
    picture = log_file.with_suffix(".png")
    save(run_figure(log, title), picture)
    return [log_file, picture]


def _tell(numbers: dict[str, Any], files: list[Path]) -> None:
    """A summary to read."""
    from rich.console import Console
    from rich.table import Table

    # a table of two columns
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    n, r = numbers, numbers["residuals"]
    # a line for each thing to know
    rows = {
        "robot": (
            f"{n['robot']}, law {n['law']}, stepper {n['stepper']}, terrain {n['terrain']}, "
            f"dt {1e3 * n['dt']:g} ms"
        ),
        "walked": _walked(n),
        "height": (
            ""
            if n["height_final"] is None
            else f"{n['height_final']:.4f} m at the end, {n['height_min']:.4f} m at the lowest"
        ),
        "contact": (
            f"peak normal force {n['normal_force_max']:.1f} N, penetration"
            f" {1e3 * n['penetration_max']:.3f} mm, creep of sticking contacts"
            f" {_measure(n['creep_max'], 'm/s')}"
            if n["contacts"]
            else "there are no contacts"
        ),
        "solver": (
            f"{n['iterations_mean']:.2f} iterations per step, at most {n['iterations_max']}; "
            f"{n['unconverged_steps']} steps unconverged"
            if n["contacts"] or n["drift_max"] is not None
            else ""
        ),
        "residuals": (
            f"Signorini {_measure(r['signorini_J'], 'J')}, cone {_measure(r['cone_Ns'], 'N s')},"
            f" dissipation {_measure(r['dissipation_J'], 'J')}, motion"
            f" {_measure(r['equation_N'], 'N')}"
        ),
        "loops": (
            ""
            if n["drift_max"] is None
            else f"largest gap of a loop joint {n['drift_max']:.1e} m or rad"
        ),
        "energy": _energy(n["energy"]),
        "speed": (
            f"{n['steps_per_second']:,.0f} steps/s, {n['realtime_factor']:,.0f} times real time"
        ),
    }
    # a run that diverged has few of them
    for name, text in rows.items():
        if text and ("diverged" not in n or name in ("robot", "walked")):
            table.add_row(name, text)
    for warning in n["warnings"]:
        table.add_row("[yellow]warning[/]", warning)
    for file in files:
        table.add_row("written", str(file))
    console.print(table)


def _measure(value: float | None, unit: str) -> str:
    """A residual with its unit, or "not applicable" where the stepper defines none."""
    return "not applicable" if value is None else f"{value:.1e} {unit}"


def _energy(e: dict[str, float]) -> str:
    """The ledger's shares that are not zero."""
    shares = {
        name: value for name, value in e.items() if name not in ("change", "unbalanced") and value
    }
    told = ", ".join(f"{name} {value:+.3g}" for name, value in shares.items())
    shown = f"{told} J; " if told else ""
    return f"{shown}change {e['change']:+.3g} J, balanced to {e['unbalanced']:.1e} J"


def _walked(n: dict[str, Any]) -> str:
    if "diverged" in n:
        return f"diverged after {n['duration']:g} s"
    end = ", and fell" if n["fell"] else ""
    end += "; interrupted" if "interrupted" in n else ""
    if n["height_final"] is None:
        return f"nowhere in {n['duration']:g} s, for its base is fixed{end}"
    return f"{n['distance']:.3f} m in {n['duration']:g} s: {n['mean_speed']:.3f} m/s{end}"
