"""Identification of a robot's actuators from a log of its position servos.

The base is fixed, and each joint's servo follows its target with known gains,
tau = kp (target - q) - kd u. Structures of different complexity are fitted to the first part of the
log, and compared by the error of the joint angles on the rest. Each is a sum of parts:

friction   armature, viscous damping and Coulomb friction
spring     a linear spring, such as that of cables and hoses
angle      Coulomb friction that changes with the joint's angle (`tarsus.model.friction`)
stribeck   more friction at rest than in motion
load       friction that grows with the motor's torque
delay      targets that act late
lag        a first-order lag of the torque
offset     encoders whose angles have a constant error
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnmetCondition, join_names, unknown_name_error
from tarsus.identification.candidates import Candidates, ModelParts, matches
from tarsus.identification.estimates import Estimate
from tarsus.identification.intervals import UNDETERMINED_HALF_WIDTH
from tarsus.identification.model_parts import create_model_parts
from tarsus.identification.ranges import SearchRange
from tarsus.identification.recording import MotionLog
from tarsus.identification.resampling import mean_interval
from tarsus.identification.rollouts import Rollouts
from tarsus.identification.run import Identification, PreparedData, ProgressCallback, identify_model
from tarsus.identification.servo_log import read_servo_log
from tarsus.identification.spec import SEARCH, IdentificationSpec
from tarsus.identification.unknowns import FRICTION_KINDS, MOTOR_KINDS, Unknown
from tarsus.identification.windows import Noise, Windows, cut_windows
from tarsus.model.friction import FrictionVariation
from tarsus.model.joint import Joint
from tarsus.model.mechanism import Mechanism
from tarsus.model.motors import with_servos as motors_to_servos
from tarsus.simulation.varied import FRICTION_FIELDS, joint_value

Array = NDArray[np.float64]
PARTS: Mapping[str, tuple[str, ...]] = {
    "friction": ("armature", "damping", "dry_friction"),
    "spring": ("stiffness", "rest"),
    "angle": ("friction_slope", "friction_curvature"),
    "stribeck": ("stribeck", "stribeck_rate"),
    "load": ("load_friction",),
    "delay": ("delay",),
    "lag": ("lag",),
    "offset": ("encoder_offset",),
}
JOINT_FIELDS = (*PARTS["friction"], *PARTS["spring"])  # kinds that are fields of a joint
STRUCTURES = (
    "friction",
    "friction+spring",
    "friction+spring+stribeck",
    "friction+spring+load",
    "friction+spring+angle",
    "friction+spring+angle+stribeck",
)
NOISE = 0.005  # rad: scale of the residuals; above three times this they count linearly
WINDOW, SETTLING = 1.75, 0.25  # s: duration of a window, and of its start that is not compared
MAX_STEP, FINE_STEP = 0.0051, 0.0013  # s; delays and lags have errors of a third of a step
MAX_DELAY, START_DELAY = 0.05, 0.005  # s: end of the range of delays and lags, and first guess
MIN_LAG = 0.001  # s
MAX_OFFSET = 0.2  # rad, m: ends of the range of encoder offsets
BLOCK = 0.5  # s: duration of the blocks over which errors of structures are compared
RESAMPLES = 2000
SIMPLER_RATIO = 1.1  # held-out error, relative to the best, that a simpler structure may have
PER = ("joint", "type")
SEARCHES = {"starts": False, "scan": False, "candidates": 8, "tries": 2}


@dataclass(frozen=True, eq=False)
class ActuatorFit:
    """One structure, fitted to the first part of the log.

    Attributes
    ----------
    structure
        Parts, joined by "+"; "file" for the model as it is.
    identification
        Estimates with intervals; None for the file.
    parameters
        Number of parameters.
    train, held_out
        Root mean square error of each joint's angle, in rad, of a simulation from the targets
        alone, in the fitted part and in the held-out part, shape (n,).
    aic, bic
        Information criteria of the fitted part, with its number of independent samples.
    excess
        Mean square error of the held-out part above that of the best structure, with its 95 %
        interval, in rad^2.
    predicted
        Simulated angles, shape (T, n), in rad.
    """

    structure: str
    identification: Identification | None
    parameters: int
    train: Array
    held_out: Array
    aic: float
    bic: float
    excess: tuple[float, float, float]
    predicted: Array

    @property
    def held_out_rms(self) -> float:
        """Root mean square error over all joints, in the held-out part, in rad."""
        return float(np.sqrt(np.mean(self.held_out**2)))

    @property
    def train_rms(self) -> float:
        """Root mean square error over all joints, in the fitted part, in rad."""
        return float(np.sqrt(np.mean(self.train**2)))


@dataclass(frozen=True, eq=False)
class ActuatorIdentification:
    """Result of an identification of actuators.

    Attributes
    ----------
    robot
        The robot of the chosen structure.
    log
        Samples of the log.
    fits
        Fits in order of the structures; the first is the file as it is.
    chosen
        Name of the chosen structure. It has the fewest parameters of those whose held-out error is
        at most 10 % above the best, or not significantly above it.
    split
        Start of the held-out part, in s from the start of the log.
    simulated
        Number of simulated windows.
    seconds
        Computing time, in s.
    """

    robot: Robot
    log: MotionLog
    fits: tuple[ActuatorFit, ...]
    chosen: str
    split: float
    simulated: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """Return the result as numbers and text, without the samples."""
        names = [body.joint.name for body in self.robot.bodies]

        def numbers(fit: ActuatorFit) -> dict[str, Any]:
            result = fit.identification
            return {
                "structure": fit.structure,
                "parameters": fit.parameters,
                "train_rms": fit.train_rms,
                "held_out_rms": fit.held_out_rms,
                "held_out_by_joint": dict(zip(names, fit.held_out.tolist(), strict=True)),
                "aic": fit.aic,
                "bic": fit.bic,
                "excess": list(fit.excess),
                "estimates": [asdict(one) for one in result.estimates] if result else [],
                "remarks": list(result.remarks) if result else [],
            }

        return {
            "robot": self.robot.name,
            "chosen": self.chosen,
            "held_out_from": self.split,
            "structures": [numbers(fit) for fit in self.fits],
            "simulated": self.simulated,
            "seconds": self.seconds,
        }

    def __getitem__(self, structure: str) -> ActuatorFit:
        """Return the fit of a structure."""
        for fit in self.fits:
            if fit.structure == structure:
                return fit
        raise KeyError(structure)


def identify_actuators(
    log: Path | Mapping[str, Any],
    robot: Robot,
    kp: float,
    kd: float,
    *,
    structures: Sequence[str] = STRUCTURES,
    per: str = "joint",
    hold_out_from: float | None = None,
    threads: int = 1,
    seed: int = 0,
    on_progress: ProgressCallback = lambda text: None,
) -> ActuatorIdentification:
    """Identify the actuators of a robot with a fixed base from a log of its servos.

    Parameters
    ----------
    log
        File, or arrays by name (`read_servo_log`).
    robot
        The robot, with a fixed base.
    kp, kd
        Gains of the servos, in N m/rad and N m s/rad.
    structures
        Names of parts, joined by "+".
    per
        "joint" for parameters of each joint, "type" for parameters that the legs share.
    hold_out_from
        Start of the held-out part, in s from the start of the log; default: its last quarter.
    threads
        Number of threads; it does not affect the result.
    seed
        Seed of the random starts.
    on_progress
        Called with progress messages.

    Raises
    ------
    TarsusError
        If the log, the robot or an option is unsuitable.
    """
    begin = time.perf_counter()
    parts_of = {name: _list_kinds(name) for name in structures}
    if per not in PER:
        raise unknown_name_error("grouping of parameters", per, PER)
    motion = read_servo_log(log, robot)
    split = 0.75 * len(motion) * motion.dt if hold_out_from is None else hold_out_from
    first_held_out = round(split / motion.dt)
    if not WINDOW / motion.dt < first_held_out < len(motion) - WINDOW / motion.dt:
        raise UnmetCondition(
            f"the log of {len(motion) * motion.dt:.3g} s must have at least {WINDOW:g} s before and"
            f" after the start of the held-out part, at {split:.3g} s.",
            "hold_out_from",
        )
    driven = with_servos(robot, kp, kd)
    timed = any({"delay", "lag"} & set(kinds) for kinds in parts_of.values())
    problem = _Problem(driven, motion, kp, first_held_out, timed, threads, seed, on_progress)
    fits, known = [problem.predict_file()], dict[str, dict[str, float]]()
    for name in sorted(structures, key=lambda s: len(parts_of[s])):
        simpler = [known[s] for s in known if set(parts_of[s]) <= set(parts_of[name])]
        start = simpler[-1] if simpler else {}
        fit = problem.fit_structure(name, parts_of[name], per, start)
        assert fit.identification is not None
        known[name] = {one.name: one.value for one in fit.identification.estimates}
        fits.append(fit)
    fits, chosen = _compare(fits, motion, first_held_out)
    values = known.get(chosen, {})
    return ActuatorIdentification(
        apply_estimates(driven, values, motion),
        motion,
        tuple(fits),
        chosen,
        split,
        problem.simulated,
        time.perf_counter() - begin,
    )


def _list_kinds(structure: str) -> tuple[str, ...]:
    """List the kinds of unknowns of a structure."""
    names = structure.split("+")
    for name in names:
        if name not in PARTS:
            raise unknown_name_error("part of an actuator", name, PARTS)
    return tuple(kind for name in PARTS if name in names for kind in PARTS[name])


def with_servos(robot: Robot, kp: float, kd: float) -> Robot:
    """Replace the actuators of a robot by position servos, within its motors' limits."""
    for name, value in (("kp", kp), ("kd", kd)):
        if not (np.isfinite(value) and value >= 0) or (name == "kp" and value == 0):
            raise InvalidValue(f"{name} must be a positive number, not {value}.", name)
    motors = [motor.joint for motor in robot.actuators]
    lacking = [b.joint.name for b in robot.bodies if b.joint.name not in motors]
    if lacking:
        raise UnmetCondition(
            f"{lacking[0]} of {robot.name} has no motor: lock it or add a motor to the model.",
            lacking[0],
        )
    return motors_to_servos(robot, dict.fromkeys(motors, (kp, kd)))


def list_joint_groups(robot: Mechanism, per: str) -> list[str]:
    """List the joints, or patterns of joints that legs share, such as *_calf_joint."""
    names = [body.joint.name for body in robot.bodies]
    if per == "joint":
        return names
    suffixes = [name.partition("_")[2] or name for name in names]
    return list(
        dict.fromkeys(
            f"*_{suffix}" if suffixes.count(suffix) > 1 else name
            for suffix, name in zip(suffixes, names, strict=True)
        )
    )


def apply_estimates(robot: Robot, values: Mapping[str, float], log: MotionLog) -> Robot:
    """Return the robot with estimates, by names of unknowns.

    Friction that changes with the angle stays constant outside the range of the log.
    """
    low, high = log.q.min(0), log.q.max(0)

    def joint_of(joint: Joint, k: int) -> Joint:
        of_joint = {
            name.partition(".")[0]: value
            for name, value in values.items()
            if matches(name.partition(".")[2], joint.name)
        }
        changed: dict[str, Any] = {k: of_joint[k] for k in JOINT_FIELDS if k in of_joint}
        fields = {FRICTION_FIELDS[k]: of_joint[k] for k in FRICTION_KINDS if k in of_joint}
        if fields:
            within = angle_range(float(low[k]), float(high[k]))
            changed["friction"] = FrictionVariation(**within, **fields)
        return replace(joint, **changed)

    def motor_numbers(joint: str) -> dict[str, float]:
        parts = {name: name.partition(".") for name in values}
        return {
            kind: values[name]
            for name, (kind, _, pattern) in parts.items()
            if kind in MOTOR_KINDS and matches(pattern, joint)
        }

    bodies = enumerate(robot.bodies)
    actuators = tuple(replace(a, **motor_numbers(a.joint)) for a in robot.file_actuators)
    return replace(
        robot,
        bodies=tuple(replace(b, joint=joint_of(b.joint, k)) for k, b in bodies),
        file_actuators=actuators,
    )


def angle_range(low: float, high: float) -> dict[str, float]:
    """Return center and range of friction that changes over the angles of a log."""
    return {"center": (low + high) / 2, "lower": low, "upper": high}


class _Problem:
    """Fits of structures to one log."""

    def __init__(
        self,
        robot: Robot,
        log: MotionLog,
        kp: float,
        first_held_out: int,
        timed: bool,
        threads: int,
        seed: int,
        on_progress: ProgressCallback,
    ) -> None:
        self.robot, self.log, self.first_held_out = robot, log, first_held_out
        self.threads, self.on_progress = threads, on_progress
        self.simulated = 0
        step = log.dt / np.ceil(log.dt / (FINE_STEP if timed else MAX_STEP))
        self.parts = create_model_parts({"dt": float(step)}, None, robot, log.dt)
        options = {"actuators": "file", "contacts": ()}
        self.parts = replace(self.parts, options=options, measured=True)
        train = log.between(None, (first_held_out - 1) * log.dt)
        # with delays and lags, errors of a window's start may decay slowly: only one window
        length = (len(train) - 1) * log.dt if timed else WINDOW
        windows = cut_windows([train], length, length - SETTLING, 10_000)
        self.train = replace(windows, skipped=round(SETTLING / log.dt))
        self.whole = Windows((log,), np.zeros(1, int), np.zeros(1, int), len(log) - 1)
        self.no_windows = self.train.subset(np.zeros(len(self.train), bool))
        self.search = {**SEARCH, **SEARCHES, "seed": seed}
        # sizes of torques and motions, which scale the ranges
        self.torque = kp * np.abs(log.action - log.q).max(0)
        self.rate = np.percentile(np.abs(log.u), 99, axis=0)
        self.low, self.high = log.q.min(0), log.q.max(0)

    def predict_file(self) -> ActuatorFit:
        """Predict with the model as it is."""
        joints = [body.joint for body in self.robot.bodies]
        values = {
            f"{kind}.{joint.name}": joint_value(kind, joint)
            for joint in joints
            for kind in PARTS["friction"]
        }
        unknowns = [Unknown(name, SearchRange(0.0, v + 1.0)) for name, v in values.items()]
        q = self._predict(self.parts, unknowns, values)
        return self._measure("file", None, 0, q)

    def fit_structure(
        self, name: str, kinds: Sequence[str], per: str, start: Mapping[str, float]
    ) -> ActuatorFit:
        """Fit one structure, beginning with the values of a simpler one."""
        parts = replace(self.parts, robot=self._with_ranges(kinds))
        unknowns = [
            self._unknown(kind, group, start)
            for group in list_joint_groups(self.robot, per)
            for kind in kinds
        ]
        noise = Noise(np.full(self.robot.nu, NOISE), None, None)
        spec = IdentificationSpec(tuple(unknowns), search=self.search)
        prepared = PreparedData(spec, (self.log,), parts, noise, self.train, self.no_windows)
        result = identify_model(
            prepared,
            unknowns,
            parts,
            self.threads,
            lambda text: self.on_progress(f"{name}: {text}"),
        )
        self.simulated += result.simulated
        q = self._predict(parts, unknowns, {one.name: one.value for one in result.estimates})
        return self._measure(name, self._widen_intervals(result, unknowns, q), len(unknowns), q)

    def _widen_intervals(
        self, result: Identification, unknowns: Sequence[Unknown], q: Array
    ) -> Identification:
        """Widen intervals for residuals that are correlated in time.

        The curvature of the cost counts every sample as independent, but only one sample per
        correlation time is.
        """
        times = np.array([correlation_time(e) for e in (q - self.log.q)[: self.first_held_out].T])
        estimates = []
        for one, unknown in zip(result.estimates, unknowns, strict=True):
            chosen = [matches(unknown.parameter, b.joint.name) for b in self.robot.bodies]
            factor = float(np.sqrt(times[chosen].max()))
            low, value, high = (unknown.range.share(v) for v in (one.low, one.value, one.high))
            ends = np.clip([value - factor * (value - low), value + factor * (high - value)], 0, 1)
            estimates.append(
                replace(
                    one,
                    low=float(unknown.range.at(ends[0])),
                    high=float(unknown.range.at(ends[1])),
                    undetermined=one.undetermined
                    or bool(np.ptp(ends) > 2 * UNDETERMINED_HALF_WIDTH),
                )
            )
        remarks = _remarks(estimates, result)
        return replace(result, estimates=tuple(estimates), remarks=remarks)

    def _with_ranges(self, kinds: Sequence[str]) -> Robot:
        """Add friction that varies over the angles of the log, if a kind needs it."""
        if not set(kinds) & set(FRICTION_KINDS):
            return self.robot
        bodies = [
            replace(
                body,
                joint=replace(
                    body.joint,
                    friction=FrictionVariation(**angle_range(float(low), float(high))),
                ),
            )
            for body, low, high in zip(self.robot.bodies, self.low, self.high, strict=True)
        ]
        return replace(self.robot, bodies=tuple(bodies))

    def _unknown(self, kind: str, group: str, start: Mapping[str, float]) -> Unknown:
        """Create an unknown of a group of joints, with a range that fits the log."""
        chosen = [matches(group, body.joint.name) for body in self.robot.bodies]
        joints = [body.joint for body, c in zip(self.robot.bodies, chosen, strict=True) if c]
        scale = _Scale(
            float(self.torque[chosen].max()),
            float(self.rate[chosen].max()),
            float((self.high - self.low)[chosen].max()) / 2,
            float(((self.high + self.low) / 2)[chosen].mean()),
            max(joint.armature for joint in joints),
        )
        within, default = scale.search_range(kind)
        if default is None:
            default = float(np.mean([joint_value(kind, joint) for joint in joints]))
        name = f"{kind}.{group}"
        value = start.get(name, default)
        return Unknown(name, within, float(np.clip(value, within.low, within.high)))

    def _predict(
        self, parts: ModelParts, unknowns: Sequence[Unknown], values: Mapping[str, float]
    ) -> Array:
        """Simulate the whole log from its first sample and the targets alone, (T, n)."""
        unit = Noise(np.ones(self.robot.nu), None, None)
        rollouts = Rollouts(Candidates(parts, unknowns), self.whole, unit, self.threads)
        row = np.array([[values[one.name] for one in unknowns]])
        errors = rollouts.residuals(row, rollouts.run_observer(row))[0, 0]
        return np.concatenate([self.log.q[:1], self.log.q[1:] + errors])

    def _measure(
        self, name: str, result: Identification | None, parameters: int, q: Array
    ) -> ActuatorFit:
        """Measure the errors of simulated angles q (T, n), in rad, and the information criteria."""
        errors = q - self.log.q
        train, held_out = errors[: self.first_held_out], errors[self.first_held_out :]
        train_rms, held_out_rms = (np.sqrt((part**2).mean(0)) for part in (train, held_out))
        independent, likelihood = 0.0, 0.0
        for column in train.T:
            n = len(column) / correlation_time(column)
            independent += n
            likelihood += n * np.log(max(float(np.mean(column**2)), 1e-30))
        aic = likelihood + 2 * parameters
        bic = likelihood + parameters * np.log(max(independent, 1.0))
        return ActuatorFit(
            name,
            result,
            parameters,
            train_rms,
            held_out_rms,
            aic,
            bic,
            (0.0, 0.0, 0.0),
            q,
        )


@dataclass(frozen=True)
class _Scale:
    """Sizes of the motion of a group of joints, which scale the ranges of its unknowns.

    Attributes
    ----------
    torque, rate
        Largest torque of the servos, in N m, and fast rate, in rad/s.
    half, middle
        Half of the range of angles, and its middle, in rad.
    armature
        Largest armature of the model, in kg m^2.
    """

    torque: float
    rate: float
    half: float
    middle: float
    armature: float

    def search_range(self, kind: str) -> tuple[SearchRange, float | None]:
        """Return the range and the initial guess of a kind of unknown; None: the model's value."""
        stiff, bend = self.torque / self.half, self.torque / self.half**2
        match kind:
            case "armature":
                return SearchRange(0.0, max(0.1, 10 * self.armature)), None
            case "damping":
                return SearchRange(0.0, self.torque / self.rate), None
            case "dry_friction":
                return SearchRange(0.0, self.torque), None
            case "stiffness":
                return SearchRange(1e-3 * stiff, stiff, log=True), 0.02 * stiff
            case "rest":
                return SearchRange(
                    self.middle - 20 * self.half, self.middle + 20 * self.half
                ), self.middle
            case "friction_slope":
                return SearchRange(-stiff, stiff), 0.0
            case "friction_curvature":
                return SearchRange(-bend, bend), 0.0
            case "stribeck":
                return SearchRange(0.0, self.torque), 0.0
            case "stribeck_rate":
                return SearchRange(0.02 * self.rate, self.rate, log=True), 0.2 * self.rate
            case "load_friction":
                return SearchRange(0.0, 0.8), 0.0
            case "delay":
                return SearchRange(0.0, MAX_DELAY), START_DELAY
            case "lag":  # at 0 its effect, exp(-dt / lag), has no slope
                return SearchRange(MIN_LAG, MAX_DELAY), START_DELAY
            case "encoder_offset":
                return SearchRange(-MAX_OFFSET, MAX_OFFSET), 0.0
            case _:
                raise unknown_name_error("unknown of an actuator", kind, sum(PARTS.values(), ()))


def _remarks(estimates: Sequence[Estimate], result: Identification) -> tuple[str, ...]:
    """Write what the log does not determine or cannot tell apart, kind by kind."""

    def joints(names: Sequence[str]) -> str:
        return join_names([name.partition(".")[2] for name in names], 4)

    remarks = []
    for kind in dict.fromkeys(one.name.partition(".")[0] for one in estimates):
        of_kind = [one for one in estimates if one.name.partition(".")[0] == kind]
        if names := [one.name for one in of_kind if one.undetermined]:
            remarks.append(f"The log does not determine {kind} of {joints(names)}.")
        for end in ("low", "high"):
            if names := [one.name for one in of_kind if one.bound == end and not one.undetermined]:
                remarks.append(f"{kind} of {joints(names)} is at the {end}er end of its range.")
    pairs: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for a, b, correlation in result.correlated:
        (kind_a, _, joint_a), (kind_b, _, joint_b) = a.partition("."), b.partition(".")
        if joint_a == joint_b:
            key = (min(kind_a, kind_b), max(kind_a, kind_b))
            pairs.setdefault(key, []).append((a, correlation))
    for (a, b), entries in pairs.items():
        strongest = max((c for _, c in entries), key=abs)
        remarks.append(
            f"The log hardly tells {a} from {b} in {joints([name for name, _ in entries])}"
            f" (correlation up to {strongest:.3f})."
        )
    if not result.converged:
        remarks.append("The search did not converge: estimates may still change.")
    return tuple(remarks)


def correlation_time(values: Array) -> float:
    """Compute the integrated autocorrelation time of residuals, in samples, at least 1.

    The sum ends at the first negative autocorrelation (Geyer 1992).
    """
    centered = values - values.mean()
    n = len(centered)
    spectrum = np.abs(np.fft.rfft(centered, 2 * n)) ** 2
    correlation = np.fft.irfft(spectrum)[:n]
    if not correlation[0] > 0:
        return 1.0
    correlation = correlation / correlation[0]
    negative = np.flatnonzero(correlation < 0)
    last = int(negative[0]) if len(negative) else n
    return float(max(1.0, 1 + 2 * correlation[1:last].sum()))


def _compare(
    fits: Sequence[ActuatorFit], log: MotionLog, first_held_out: int
) -> tuple[list[ActuatorFit], str]:
    """Compare the held-out errors of structures, block by block, and choose one."""
    size = max(1, round(BLOCK / log.dt))
    count = (len(log) - first_held_out) // size
    rows = slice(first_held_out, first_held_out + count * size)
    blocks = [
        ((fit.predicted - log.q)[rows] ** 2).mean(1).reshape(count, size).mean(1) for fit in fits
    ]
    best = int(np.argmin([block.mean() for block in blocks]))
    compared = [
        replace(fit, excess=mean_interval(block - blocks[best], RESAMPLES, 0))
        for fit, block in zip(fits, blocks, strict=True)
    ]
    limit = SIMPLER_RATIO * compared[best].held_out_rms
    as_good = [fit for fit in compared if fit.excess[1] <= 0 or fit.held_out_rms <= limit]
    chosen = min(as_good, key=lambda fit: (fit.parameters, fit.held_out_rms))
    return compared, chosen.structure
