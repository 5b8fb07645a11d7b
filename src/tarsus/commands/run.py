"""`tarsus run`: simulate a robot on the ground; a summary, a log and a picture."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tarsus import registry
from tarsus.commands._joint_flags import JointFlags, Joints, SensorNames, sensors
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands._run_lines import ended, log_file, picture, tell
from tarsus.commands.base import (
    AUTO,
    GAITS,
    LAWS,
    STEPPERS,
    TERRAINS,
    Command,
    Flag,
    Folder,
    GaitName,
    LawName,
    Number,
    RobotName,
    Seconds,
    Settings,
    StepperName,
    TerrainName,
    called,
    each_setting,
    number,
    print_json,
    typed,
)
from tarsus.errors import (
    IncompatibleOptions,
    InvalidValue,
    TarsusWarning,
    WarningRecord,
    warning_record,
)
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.mujoco_runs.simulation import MujocoSimulation
    from tarsus.simulation.simulation import Simulation
    from tarsus.terrain.base import Terrain

    Simulated = Simulation | MujocoSimulation


OURS_ALONE = {  # arguments that MuJoCo has no use for, and why
    "law": "MuJoCo has its own contact model; set it with --set solref=... solimp=... mu=...",
    "stepper": "MuJoCo has its own integrators; choose one with --set integrator=...",
    "precision": "MuJoCo computes in float64",
    "coordinates": "MuJoCo uses the joint coordinates of the tree",
    "actuators": "MuJoCo drives the joints with ideal motors",
    "keyframe": "MuJoCo starts from the standing pose",
    "sensors": "a MuJoCo run logs only the state",
}


@dataclass(frozen=True)
class Run(Command):
    """Simulate a robot; print a summary, write a log and a picture."""

    place: ClassVar[int] = 10
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus run mini_cheetah --out out": "ten seconds of trot; out/mini_cheetah.nc and .png",
        "tarsus run mini_cheetah --law compliant --dt 0.001": "springs instead",
        "tarsus run arm.urdf --fixed-base --sensors encoders": "your own arm, on a table",
        "tarsus run mini_cheetah --engine mujoco --json": "the same trot on MuJoCo, as JSON",
        "tarsus run hyq --view": "watch it live in a browser",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Contact": "law friction set",
        "Ground": "terrain slope",
        "Motion": "gait speed",
        "Time and computation": "duration dt stepper engine precision",
        "Robot": "contacts coordinates actuators keyframe sensors",
        "Results": "out view",
    }

    robot: RobotName
    law: LawName = "moreau"
    gait: GaitName = "auto"
    duration: Seconds = 10.0
    """Simulated time."""
    dt: Seconds = DEFAULT_DT
    """Length of a time step."""
    slope: Annotated[float, number("DEGREES"), called("DEGREES")] = 0.0
    """Incline of the ground, rising along x."""
    friction: Number = None
    """Friction coefficient; by default the law's own."""
    set: Settings = ()
    """Parameters of law, gait, stepper, terrain (`tarsus list --parameters`): solver=sor kp=60."""
    contacts: Annotated[str | None, called("NAME,...")] = None
    """Points that may touch: names, patterns such as *_foot, feet, or all (the default on flat
    ground)."""
    coordinates: Annotated[str, called("KIND")] = "minimal"
    """Joints kept as constraints: minimal (none), extended, maximal (all); docs/coordinates.md."""
    speed: Annotated[float | None, number("M/S"), called("M/S")] = None
    """Commanded forward speed; by default the gait's own."""
    actuators: Literal["motor", "file"] = "motor"
    """Motors that take a gait's torques, or the servos of the robot's file (docs/actuators.md)."""
    keyframe: Annotated[str | None, called("NAME")] = None
    """Keyframe of the file to start from; by default stand, home or the like."""
    sensors: SensorNames = None
    """Sensors (`tarsus list sensors`) read every step into the log: imu,touch:FR_foot."""
    terrain: TerrainName = "plane"
    stepper: StepperName = "midpoint"
    engine: Literal["tarsus", "mujoco"] = "tarsus"
    """Simulator. MuJoCo has a contact and integrators of its own: --set solref=0.02,1 solimp=...
    integrator=implicit cone=pyramidal impratio=10 mu=0.8."""
    precision: Literal["float64", "float32"] = "float64"
    """Number format of the simulation."""
    out: Folder = None
    """Write the log ROBOT.nc (netCDF) and the picture ROBOT.png to this folder."""
    view: Flag = False
    """Watch it live in a browser instead, with sliders, until Ctrl-C (docs/watch.md)."""
    joints: Joints = field(default_factory=JointFlags)
    base: Base = field(default_factory=BaseFlags)

    @property
    def parameters(self) -> list[str]:
        """All that `--set` was given."""
        return each_setting(self.set)

    def check_names(self) -> None:
        """Those of the parameters too; what a law of one's own declares is seen when it is read."""
        super().check_names()
        from tarsus.simulation.part_parameters import RunPart, resolve_assignment

        chosen = {"law": (LAWS, self.law), "gait": (GAITS, self.gait)}
        chosen["stepper"] = STEPPERS, self.stepper
        if self.engine == "mujoco":
            chosen = {"engine": ("tarsus.mujoco_runs", "settings"), "gait": (GAITS, self.gait)}
        chosen["terrain"] = TERRAINS, "slope" if self.slope else self.terrain
        if self.actuators == "file":
            chosen["actuators"] = "tarsus.control", "file_actuators"
        parts = [
            RunPart(whose, name, registry.parameter_names(folder, name))
            for whose, (folder, asked) in chosen.items()
            for name in registry.names(folder)
            if asked in (name, AUTO)
        ]
        if not any(asked.endswith(registry.PYTHON_SUFFIX) for _, asked in chosen.values()):
            for setting in self.parameters:
                resolve_assignment(setting, parts)

    def execute(self) -> int:
        from tarsus.simulation.recording import provenance
        from tarsus.simulation.recording.divergence import Diverged
        from tarsus.simulation.recording.interrupt import Interrupted
        from tarsus.simulation.recording.summary import summary

        if self.view:
            return _watched(self)
        # make the simulation, keeping every warning as a notice
        progress = self.progress()
        with warnings.catch_warnings(record=True) as caught, progress:
            warnings.simplefilter("always", TarsusWarning)
            progress.say(f"compiling {self.robot}")
            simulation, notices = _simulation(self)
        notices = [
            *(warning_record(w.message) for w in caught if issubclass(w.category, TarsusWarning)),
            *notices,
        ]
        simulation.warnings[:0] = notices
        # run it; a run that diverged or was interrupted leaves what came before
        failure: dict[str, str] = {}
        token = provenance.command_line.set(shlex.join(["tarsus", *typed.get()]))
        path = log_file(self.out, simulation.robot.name) if self.out else None
        try:
            with progress:
                progress.say(f"running {simulation.robot.name}")
                log = simulation.run(self.duration, progress.towards(self.duration), path)
        except (Diverged, Interrupted) as stop:
            if stop.log is None:
                raise
            log = stop.log
            failure = {"diverged" if isinstance(stop, Diverged) else "interrupted": str(stop)}
        finally:
            provenance.command_line.reset(token)
        # sum it up, draw and print it
        numbers = summary(simulation, log) | failure
        numbers["warnings"] = [text for text in numbers["warnings"] if text not in failure.values()]
        files = [path, picture(log, numbers, path)] if path else []
        shown = numbers | {"warnings": []} if self.output.quiet else numbers
        print_json(numbers) if self.json else tell(shown, files)
        return ended(failure, files)


def _watched(given: Run) -> int:
    """The simulation on a page; TarsusError for arguments that need an end."""
    from tarsus.viewer.live import watch
    from tarsus.viewer.live_panel import Choice

    for name in ("out", "json"):
        if getattr(given, name):
            raise IncompatibleOptions(
                f"--{name} cannot be combined with --view, which runs until you stop it.",
                f"--{name}",
            )
    if given.engine != "tarsus":
        raise IncompatibleOptions(
            f"--view cannot be combined with --engine {given.engine}: write a log with --out, then"
            " open it with `tarsus view`.",
            "--view",
        )

    def made(choice: Choice) -> Simulation:
        changed = replace(given, law=choice.law, gait=choice.gait, dt=choice.dt)
        if choice.law != given.law or choice.gait != given.gait:
            changed = replace(changed, set=())
        return _at_speed(_on_tarsus(changed, _ground(changed))[0], given.speed)

    return watch(made, Choice(given.law, given.gait, given.dt))


def _ground(given: Run) -> Terrain | str:
    """The terrain asked for."""
    import numpy as np

    from tarsus.terrain.slope import Slope

    if given.slope and given.terrain != "plane":
        raise IncompatibleOptions(
            f"--slope inclines the plane: it cannot be combined with --terrain {given.terrain}.",
            "--slope",
        )
    if not abs(given.slope) < 90:
        raise InvalidValue(
            f"--slope must be between -90 and 90 degrees, not {given.slope:g}.", "--slope"
        )
    return Slope(angle=np.deg2rad(given.slope)) if given.slope else given.terrain


def _simulation(given: Run) -> tuple[Simulated, list[WarningRecord]]:
    """The simulation asked for, and a notice for each argument that it ignores."""
    terrain = _ground(given)
    # the simulation, and the speed that its gait is to walk at
    simulation, notices = (
        _on_mujoco(given, terrain) if given.engine == "mujoco" else _on_tarsus(given, terrain)
    )
    return _at_speed(simulation, given.speed), notices


def _at_speed(simulation: Any, given: float | None) -> Any:
    """The simulation, told the speed given, or its gait's own."""
    own = getattr(simulation.controller, "commands", {}).get("speed")
    speed = own if given is None else given
    if speed is not None:
        simulation.set(command={"speed": speed})
    return simulation


def _on_tarsus(given: Run, terrain: Terrain | str) -> tuple[Simulation, list[WarningRecord]]:
    """The simulation on our own steps."""
    from tarsus.parameters import names_with_role
    from tarsus.simulation import resolve
    from tarsus.simulation.options import Options
    from tarsus.simulation.part_parameters import ParameterSetting
    from tarsus.simulation.simulation import Simulation

    # the friction coefficient by the name that the law has for it
    notices, parameters = list[WarningRecord](), list[ParameterSetting](given.parameters)
    if given.friction is not None:
        names = names_with_role(type(resolve.law(given.law)), "friction")
        if names:
            parameters.insert(0, (f"law.{names[0]}", given.friction))
        else:
            text = f"--friction is ignored: the law {given.law!r} has no friction coefficient."
            notices.append(WarningRecord(text, "friction-ignored", str(given.law)))
    options: Options = {
        "precision": given.precision,
        "coordinates": given.coordinates,
        "parameters": parameters,
        "actuators": given.actuators,
        "keyframe": given.keyframe,
        **given.joints.options,
    }
    if given.sensors is not None:
        options["sensors"] = sensors(given.sensors)
    if given.contacts is not None:
        options["contacts"] = given.contacts
    with resolve.ignore_own_ground(given.robot, terrain):
        robot = given.base.load(given.robot)
    if given.view and robot.floating:
        options["pushes"] = robot.body_names[0]
    made = Simulation(robot, given.law, given.stepper, terrain, given.gait, given.dt, **options)
    return made, notices


def _on_mujoco(given: Run, terrain: Terrain | str) -> tuple[MujocoSimulation, list[WarningRecord]]:
    """The simulation on MuJoCo; TarsusError for what is ours alone."""
    from tarsus.mujoco_runs.settings import MujocoSettings
    from tarsus.mujoco_runs.simulation import MujocoSimulation
    from tarsus.simulation import resolve
    from tarsus.simulation.part_parameters import assigned_names

    for name, instead in OURS_ALONE.items():
        default = next(f.default for f in fields(Run) if f.name == name)
        flag = f"--{name}"
        said = any(word == flag or word.startswith(f"{flag}=") for word in typed.get())
        if said or getattr(given, name) != default:
            raise IncompatibleOptions(
                f"{flag} cannot be combined with --engine mujoco: {instead}.", flag
            )
    for flag in given.joints.changed:
        raise IncompatibleOptions(
            f"{flag} cannot be combined with --engine mujoco: it sets the joints of Tarsus's own"
            " engine.",
            flag,
        )
    with resolve.ignore_own_ground(given.robot, terrain):
        robot = given.base.load(given.robot)
    told = list[WarningRecord]()
    replaced = assigned_names(given.parameters, "engine", MujocoSettings())
    settings = MujocoSettings.of_file(robot, told, given.friction, replaced)
    parts = robot, settings, terrain, given.gait, given.dt
    return MujocoSimulation(*parts, given.contacts, given.parameters), told
