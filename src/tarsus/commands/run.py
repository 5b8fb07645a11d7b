"""`tarsus run`: simulate a robot on the ground; print a summary, write a log and a plot."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tarsus import registry
from tarsus.commands._joint_flags import JointFlags, Joints, SensorNames, sensors
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands._run_lines import log_file, print_summary, report_failure, save_plot
from tarsus.commands.base import (
    ACTUATORS,
    AUTO,
    GAITS,
    LAWS,
    STEPPERS,
    TERRAINS,
    ActuatorNames,
    Command,
    Flag,
    Folder,
    GaitName,
    LawName,
    Number,
    OptionalSeconds,
    RobotName,
    Seconds,
    Settings,
    StepperName,
    TerrainName,
    argument,
    collect_settings,
    number_argument,
    print_json,
    typed_arguments,
)
from tarsus.errors import (
    IncompatibleOptions,
    InvalidValue,
    TarsusWarning,
    WarningRecord,
    warning_record,
)

if TYPE_CHECKING:
    from tarsus.mujoco_runs.simulation import MujocoSimulation
    from tarsus.simulation.simulation import Simulation
    from tarsus.terrain.base import Terrain

    Simulated = Simulation | MujocoSimulation


TARSUS_ONLY = {  # arguments that MuJoCo does not support, and the reason
    "law": "MuJoCo has its own contact model; set it with --set solref=... solimp=... mu=...",
    "stepper": "MuJoCo has its own integrators; choose one with --set integrator=...",
    "precision": "MuJoCo computes in float64",
    "coordinates": "MuJoCo uses the joint coordinates of the tree",
    "actuators": "MuJoCo drives the joints with ideal motors",
    "keyframe": "a MuJoCo run starts from the standing pose",
    "sensors": "a MuJoCo run logs only the state",
}


@dataclass(frozen=True)
class Run(Command):
    """Simulate a robot and print a summary; with --out, write a log and a plot."""

    position: ClassVar[int] = 10
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus run mini_cheetah --out out": "trot for 10 s; write out/mini_cheetah.nc and .png",
        "tarsus run mini_cheetah --law compliant --dt 0.001": "use spring-damper contacts",
        "tarsus run arm.urdf --fixed-base --sensors encoders": "simulate an arm from your own file",
        "tarsus run mini_cheetah --engine mujoco --json": "run the same trot on MuJoCo, print JSON",
        "tarsus run hyq --view": "watch a live simulation in a browser",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Contact": "law friction set",
        "Ground": "terrain slope",
        "Motion": "gait speed",
        "Time and computation": "duration dt stepper engine precision",
        "Robot": "contacts coordinates actuators keyframe sensors",
        "Result": "out view",
    }

    robot: RobotName
    law: LawName = "moreau"
    gait: GaitName = "auto"
    duration: Seconds = 10.0
    """Simulated time."""
    dt: OptionalSeconds = None
    """Time step. (default: that of the robot's file, if any; otherwise 0.0025, or 0.001 if the
    servos of light feet need it)"""
    slope: Annotated[float, number_argument("DEGREES"), argument("DEGREES")] = 0.0
    """Slope of the ground, rising along x."""
    friction: Number = None
    """Friction coefficient. (default: the contact law's)"""
    set: Settings = ()
    """Set parameters of the law, gait, stepper or terrain (`tarsus list --parameters`), such as
    solver=sor kp=60."""
    contacts: Annotated[str | None, argument("NAME,...")] = None
    """Contact candidates to simulate: names, patterns such as *_foot, feet, or all. (default on
    flat ground: all)"""
    coordinates: Annotated[str, argument("KIND")] = "minimal"
    """Joints to model as constraints: minimal (none), extended, or maximal (all); see
    docs/coordinates.md."""
    speed: Annotated[float | None, number_argument("M/S"), argument("M/S")] = None
    """Commanded forward speed. (default: the gait's)"""
    actuators: ActuatorNames = "motor"
    """motor: ideal motors driven by the gait's torques; file: the actuators of the robot file, with
    models of real motors such as file+dc_motor (`tarsus list actuators`, docs/actuators.md)."""
    keyframe: Annotated[str | None, argument("NAME")] = None
    """Keyframe of the robot file to start from. (default: stand, home or similar)"""
    sensors: SensorNames = None
    """Sensors to log at every step (`tarsus list sensors`), such as imu,touch:FR_foot."""
    terrain: TerrainName = "plane"
    stepper: StepperName = "midpoint"
    engine: Literal["tarsus", "mujoco"] = "tarsus"
    """Simulator. MuJoCo uses its own contact model and integrators; configure them with --set
    solref=0.02,1 solimp=... integrator=implicit cone=pyramidal impratio=10 mu=0.8."""
    precision: Literal["float64", "float32"] = "float64"
    """Floating-point precision of the simulation."""
    out: Folder = None
    """Write the log ROBOT.nc (netCDF) and the plot ROBOT.png to this folder."""
    view: Flag = False
    """Watch a live simulation in a browser instead, with sliders, until Ctrl-C (docs/watch.md)."""
    joints: Joints = field(default_factory=JointFlags)
    base: Base = field(default_factory=BaseFlags)

    @property
    def parameters(self) -> list[str]:
        """Every NAME=VALUE of `--set`."""
        return collect_settings(self.set)

    def check_names(self) -> None:
        """Check the names in `--set` too, unless they may belong to a user's own file."""
        super().check_names()
        from tarsus.simulation.part_parameters import RunPart, resolve_assignment

        chosen = {"law": (LAWS, self.law), "gait": (GAITS, self.gait)}
        chosen["stepper"] = STEPPERS, self.stepper
        if self.engine == "mujoco":
            chosen = {"engine": ("tarsus.mujoco_runs", "settings"), "gait": (GAITS, self.gait)}
        chosen["terrain"] = TERRAINS, "slope" if self.slope else self.terrain
        if self.actuators != "motor":
            chosen["actuators"] = "tarsus.control", "file_actuators"
            for name in self.actuators.split("+")[1:]:
                chosen[name] = ACTUATORS, name
        parts = [
            RunPart(kind, name, registry.parameter_names(folder, name))
            for kind, (folder, choice) in chosen.items()
            for name in registry.names(folder)
            if choice in (name, AUTO)
        ]
        if not any(choice.endswith(registry.PYTHON_SUFFIX) for _, choice in chosen.values()):
            for setting in self.parameters:
                resolve_assignment(setting, parts)

    def execute(self) -> int:
        from tarsus.simulation.recording import provenance
        from tarsus.simulation.recording.divergence import Diverged
        from tarsus.simulation.recording.interrupt import Interrupted
        from tarsus.simulation.recording.summary import summary

        if self.view:
            return _view(self)
        # build the simulation, collecting every warning as a notice
        progress = self.progress()
        with warnings.catch_warnings(record=True) as caught, progress:
            warnings.simplefilter("always", TarsusWarning)
            progress.show_stage(f"compiling {self.robot}")
            simulation, notices = _create_simulation(self)
        notices = [
            *(warning_record(w.message) for w in caught if issubclass(w.category, TarsusWarning)),
            *notices,
        ]
        simulation.warnings[:0] = notices
        # run it; a run that diverged or was interrupted still has the log up to then
        failure: dict[str, str] = {}
        token = provenance.command_line.set(shlex.join(["tarsus", *typed_arguments.get()]))
        path = log_file(self.out, simulation.robot.name) if self.out else None
        try:
            with progress:
                progress.show_stage(f"running {simulation.robot.name}")
                log = simulation.run(self.duration, progress.create_callback(self.duration), path)
        except (Diverged, Interrupted) as stop:
            if stop.log is None:
                raise
            log = stop.log
            failure = {"diverged" if isinstance(stop, Diverged) else "interrupted": str(stop)}
        finally:
            provenance.command_line.reset(token)
        # summarize, draw and print
        results = summary(simulation, log) | failure
        results["warnings"] = [text for text in results["warnings"] if text not in failure.values()]
        files = [path, save_plot(log, results, path)] if path else []
        shown = results | {"warnings": []} if self.output.quiet else results
        print_json(results) if self.json else print_summary(shown, files)
        return report_failure(failure, files)


def _view(command: Run) -> int:
    """Show a live simulation; raise TarsusError for options that need a run of finite length."""
    from tarsus.viewer.live import watch
    from tarsus.viewer.live_panel import Choice

    for name in ("out", "json"):
        if getattr(command, name):
            raise IncompatibleOptions(
                f"--{name} cannot be combined with --view, which runs until you stop it.",
                f"--{name}",
            )
    if command.engine != "tarsus":
        raise IncompatibleOptions(
            f"--view cannot be combined with --engine {command.engine}: write a log with --out,"
            " then open it with `tarsus view`.",
            "--view",
        )

    def make(choice: Choice) -> Simulation:
        changed = replace(command, law=choice.law, gait=choice.gait, dt=choice.dt)
        if choice.law != command.law or choice.gait != command.gait:
            changed = replace(changed, set=())
        return _with_speed(
            _create_tarsus_simulation(changed, _create_terrain(changed))[0], command.speed
        )

    dt = command.dt
    if dt is None:
        from tarsus.simulation.default_controller import default_time_step

        dt = default_time_step(command.base.load(command.robot), command.gait)
    return watch(make, Choice(command.law, command.gait, dt))


def _create_terrain(command: Run) -> Terrain | str:
    """Create the terrain that `--terrain` or `--slope` selects."""
    import numpy as np

    from tarsus.terrain.slope import Slope

    if command.slope and command.terrain != "plane":
        raise IncompatibleOptions(
            f"--slope inclines the plane: it cannot be combined with --terrain {command.terrain}.",
            "--slope",
        )
    if not abs(command.slope) < 90:
        raise InvalidValue(
            f"--slope must be between -90 and 90 degrees, not {command.slope:g}.", "--slope"
        )
    return Slope(angle=np.deg2rad(command.slope)) if command.slope else command.terrain


def _create_simulation(command: Run) -> tuple[Simulated, list[WarningRecord]]:
    """Create the simulation, and a notice for each argument that it ignores."""
    terrain = _create_terrain(command)
    make = _create_mujoco_simulation if command.engine == "mujoco" else _create_tarsus_simulation
    simulation, notices = make(command, terrain)
    return _with_speed(simulation, command.speed), notices


def _with_speed(simulation: Any, speed: float | None) -> Any:
    """Command the speed, or the gait's default speed, and return the simulation."""
    default = getattr(simulation.controller, "commands", {}).get("speed")
    speed = default if speed is None else speed
    if speed is not None:
        simulation.set(command={"speed": speed})
    return simulation


def _create_tarsus_simulation(
    command: Run, terrain: Terrain | str
) -> tuple[Simulation, list[WarningRecord]]:
    """Create the simulation on Tarsus's own engine, and a notice for each ignored argument."""
    from tarsus.parameters import names_with_role
    from tarsus.simulation import resolve
    from tarsus.simulation.options import Options
    from tarsus.simulation.part_parameters import ParameterSetting
    from tarsus.simulation.simulation import Simulation

    # the law's own name for its friction coefficient
    notices, parameters = list[WarningRecord](), list[ParameterSetting](command.parameters)
    if command.friction is not None:
        names = names_with_role(type(resolve.resolve_law(command.law)), "friction")
        if names:
            parameters.insert(0, (f"law.{names[0]}", command.friction))
        else:
            text = f"--friction is ignored: the law {command.law!r} has no friction coefficient."
            notices.append(WarningRecord(text, "friction-ignored", str(command.law)))
    options: Options = {
        "precision": command.precision,
        "coordinates": command.coordinates,
        "parameters": parameters,
        "actuators": command.actuators,
        "keyframe": command.keyframe,
        **command.joints.options,
    }
    if command.sensors is not None:
        options["sensors"] = sensors(command.sensors)
    if command.contacts is not None:
        options["contacts"] = command.contacts
    with resolve.ignore_own_ground(command.robot, terrain):
        robot = command.base.load(command.robot)
    if command.view and robot.mobile:
        options["pushes"] = robot.base_name
    parts = robot, command.law, command.stepper, terrain, command.gait, command.dt
    return Simulation(*parts, **options), notices


def _create_mujoco_simulation(
    command: Run, terrain: Terrain | str
) -> tuple[MujocoSimulation, list[WarningRecord]]:
    """Create the simulation on MuJoCo; raise TarsusError for arguments that it does not support."""
    from tarsus.mujoco_runs.settings import MujocoSettings
    from tarsus.mujoco_runs.simulation import MujocoSimulation
    from tarsus.simulation import resolve
    from tarsus.simulation.part_parameters import assigned_names

    for name, reason in TARSUS_ONLY.items():
        default = next(f.default for f in fields(Run) if f.name == name)
        flag = f"--{name}"
        typed = any(word == flag or word.startswith(f"{flag}=") for word in typed_arguments.get())
        if typed or getattr(command, name) != default:
            raise IncompatibleOptions(
                f"{flag} cannot be combined with --engine mujoco: {reason}.", flag
            )
    for flag in command.joints.changed_options:
        raise IncompatibleOptions(
            f"{flag} cannot be combined with --engine mujoco: it applies only to Tarsus's own"
            " engine.",
            flag,
        )
    with resolve.ignore_own_ground(command.robot, terrain):
        robot = command.base.load(command.robot)
    notices = list[WarningRecord]()
    replaced = assigned_names(command.parameters, "engine", MujocoSettings())
    settings = MujocoSettings.from_file(robot, notices, command.friction, replaced)
    parts = robot, settings, terrain, command.gait, command.dt
    return MujocoSimulation(*parts, command.contacts, command.parameters), notices
