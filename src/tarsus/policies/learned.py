"""Export policies of `tarsus learn` as ONNX files that contain their contract.

The exported network maps measurements to joint targets. Its graph contains all processing that the
task applies to observations and actions: observation scaling, action filter, reference motion and
standing posture. The last action and past observations are states of the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.control.pd import actuated_indices
from tarsus.dynamics.robot import Robot
from tarsus.environments.control_program import MAX_ACTION
from tarsus.environments.plan import ControlPlan
from tarsus.environments.task_observer import TaskObserver, build_outline
from tarsus.errors import Unsupported
from tarsus.files import atomic_write, json_text
from tarsus.installation import missing_package_error
from tarsus.learning.play import trial_environment
from tarsus.learning.policy import CLIP_LIMIT, Policy
from tarsus.policies import policy_toml
from tarsus.policies.contract import COMMANDS, Contract, Term
from tarsus.policies.importers.tarsus import CONTRACT_KEY

Array = NDArray[np.float64]
OPSET = 17
IR_VERSION = 8  # version of the file format for OPSET
METADATA_KEY = "tarsus"  # metadata key of the training specification
JOINT_TERMS = ("joint_pos_rel", "joint_vel")
ACTION_TERM, CLOCK_TERM = "last_action", "sin_phase"
REFERENCE_TOLERANCE = 1e-9  # rad: largest error of the reference motion in the graph
CACHE_SIZE = 4  # converted files in memory


@dataclass(frozen=True, eq=False)
class _Part:
    """Source of a part of the task's observation.

    Attributes
    ----------
    columns
        Columns of the network's input, shape (k,); None for the last action.
    terms
        Observation terms that provide the columns.
    """

    columns: list[int] | None
    terms: tuple[Term, ...] = ()


def onnx_package() -> Any:
    """Return the package `onnx`; raise TarsusError if it is missing."""
    try:
        import onnx
    except ImportError:
        raise missing_package_error("onnx", "writing ONNX", "onnx") from None
    return onnx


def save_onnx(policy: Policy, path: str | Path) -> Path:
    """Write a policy with its contract to an ONNX file.

    Parameters
    ----------
    policy : Policy
        Policy to export.
    path : str or Path
        Path of the file.

    Raises
    ------
    MissingPackage
        If the package `onnx` is missing.
    Unsupported
        If an observation of the task has no observation term, or if its joint targets depend on
        more than action and clock.
    """
    data = serialize(policy)
    with atomic_write(Path(path)) as temporary:
        temporary.write_bytes(data)
    return Path(path)


@lru_cache(maxsize=CACHE_SIZE)
def convert(file: Path, modified: int) -> bytes:
    """Convert a file of `tarsus learn` to ONNX.

    Parameters
    ----------
    file : Path
        Path of the .npz file.
    modified : int
        Modification time of the file; a new one invalidates the cached result.
    """
    return serialize(Policy.load(file))


def serialize(policy: Policy) -> bytes:
    """Serialize a policy and its contract as the bytes of an ONNX file."""
    onnx_package()
    environment = trial_environment(
        policy,
        str(policy.metadata["law"]),
        float(policy.metadata["dt"]),
        str(policy.metadata["terrain"]),
    )
    work, robot = environment.work, environment.robot
    parts = _find_parts(work)
    terms = tuple(term for part in parts for term in part.terms)
    contract = _build_contract(policy, work, robot, terms)
    targets = TaskObserver(work, environment.terrain.parameters()).targets
    model = _build_model(policy, work, parts, *_reference(work, targets))
    from onnx import checker, helper

    metadata = {
        CONTRACT_KEY: policy_toml.to_toml(contract, Path()),
        METADATA_KEY: json_text(policy.metadata),
    }
    helper.set_model_props(model, metadata)
    checker.check_model(model)
    return model.SerializeToString()


def _find_parts(work: ControlPlan) -> list[_Part]:
    """Find the sources of the observation's parts, in order."""
    shape, moved, start, parts = build_outline(work), list(work.moved_motors), 0, []
    task = type(work.task).__name__
    for name, size in shape.observed.items():
        sources = shape.terms[name]
        if not sources:
            raise Unsupported(
                f"the observation {name!r} of {task} has no observation term, so it cannot be"
                " exported: run the policy with `tarsus play`.",
                name,
            )
        if [source.name for source in sources] == [ACTION_TERM]:
            parts.append(_Part(None))
            continue
        terms = tuple(Term(s.name, s.scale, options=s.options) for s in sources)
        joints = terms[0].name in JOINT_TERMS
        width, columns = size, list(range(start, start + size))
        if joints:
            width = work.motors
            columns = [start + k for k in (moved if size == len(moved) else range(width))]
        parts.append(_Part(columns, terms))
        start += width
    return parts


def _build_contract(
    policy: Policy, work: ControlPlan, robot: Robot, terms: tuple[Term, ...]
) -> Contract:
    """Build the contract of the exported network."""
    spec, gains = policy.metadata, work.gains
    posture = work.stand[actuated_indices(robot)[0]]
    bodies = [robot.joint_index(motor.joint) for motor in robot.actuators]
    ranges = list(work.task.commands().values())
    return Contract("").with_values(
        "training",
        robot=str(spec["robot"]),
        rate=float(work.task.rate),
        joints=tuple(motor.joint for motor in robot.actuators),
        scale=1.0,
        offset=0.0,
        kp=tuple(map(float, np.broadcast_to(np.array(gains.kp, float), len(bodies)))),
        kd=tuple(map(float, np.broadcast_to(np.array(gains.kd, float), len(bodies)))),
        armature=tuple(float(robot.bodies[k].joint.armature) for k in bodies),
        positions=tuple(posture.tolist()),
        height=float(work.stand[2]),
        terms=terms,
        ranges=dict(zip(COMMANDS, ranges, strict=False)) if len(ranges) == 3 else {},
        states=tuple((name, f"{name}_next") for name in _states(work)),
        input="observation",
        output="target",
    )


def _states(work: ControlPlan) -> dict[str, int]:
    """Return the sizes of the network's states, by name."""
    size = sum(build_outline(work).observed.values())
    states = {"action": len(work.moved_motors)}
    if work.task.history > 1:
        states |= {"past": (work.task.history - 1) * size, "started": 1}
    return states


def _reference(work: ControlPlan, targets: Any) -> tuple[Array, Array, Array]:
    """Compute the targets for a zero action, and their change when the clock's sine is +1 and -1.

    Raises
    ------
    Unsupported
        If the targets depend on the state, or on the clock in another way.
    """
    still, stand = np.zeros(len(work.moved_motors)), work.stand
    sources = [
        s for terms in build_outline(work).terms.values() for s in terms if s.name == CLOCK_TERM
    ]
    period = float(sources[0].options["period"]) if sources else np.inf
    rest = targets(0, still, stand)
    quarter = period / 4 / work.period if sources else 0.0  # in control periods
    up, down = (targets(k * quarter, still, stand) - rest for k in (1, 3))
    # verify at other times and postures, with actions
    generator = np.random.default_rng(0)
    for k in range(20):
        q = stand + generator.uniform(-0.1, 0.1, len(stand))
        q[3:7] /= np.linalg.norm(q[3:7])
        action = generator.uniform(-1, 1, len(still))
        wave = np.sin(2 * np.pi * k * work.period / period) if sources else 0.0
        expected = rest + up * max(wave, 0) + down * max(-wave, 0)
        expected[list(work.moved_motors)] += work.task.action_scale * action
        if np.abs(targets(k, action, q) - expected).max() > REFERENCE_TOLERANCE:
            raise Unsupported(
                f"the joint targets of {type(work.task).__name__} depend on the state, or on the"
                " clock other than through its sine, so the policy cannot be exported: run it with"
                " `tarsus play`.",
                "targets",
            )
    return rest, up, down


def _build_model(
    policy: Policy, work: ControlPlan, parts: list[_Part], rest: Array, up: Array, down: Array
) -> Any:
    """Build the graph from observation and states to joint targets and new states."""
    from onnx import TensorProto, helper, numpy_helper

    initializers: list[Any] = []
    nodes: list[Any] = []

    def node(operator: str, *inputs: Any, out: str = "", **attributes: Any) -> str:
        """Add a node; arrays among its inputs become initializers."""
        name, names = out or f"value{len(nodes)}", []
        for value in inputs:
            if not isinstance(value, str):
                array = np.asarray(value)
                array = array if array.dtype == np.int64 else array.astype(np.float32)
                value = f"constant{len(initializers)}"
                initializers.append(numpy_helper.from_array(array, value))
            names.append(value)
        nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    # observation of the task, with its history
    observed = [
        "action"
        if part.columns is None
        else node("Gather", "observation", np.array(part.columns, np.int64), axis=1)
        for part in parts
    ]
    x = node("Concat", *observed, axis=1)
    size, history = sum(build_outline(work).observed.values()), work.task.history
    if history > 1:
        repeated = node("Tile", x, np.array([1, history - 1], np.int64))
        first = node("Sub", np.ones((1, 1)), "started")  # 1 in the first period, then 0
        past = node("Add", node("Mul", "past", "started"), node("Mul", repeated, first))
        x = node("Concat", x, past, axis=1)
        ends = np.array([0], np.int64), np.array([(history - 1) * size], np.int64)
        node("Slice", x, *ends, np.array([1], np.int64), out="past_next")
        node("Max", "started", np.ones((1, 1)), out="started_next")
    # network
    x = node("Div", node("Sub", x, policy.scale.mean), policy.scale.deviation)
    x = node("Clip", x, np.float32(-CLIP_LIMIT), np.float32(CLIP_LIMIT))
    layers = list(policy.network.layers(policy.weights))
    for k, (matrix, offset) in enumerate(layers):
        x = node("Add", node("MatMul", x, matrix), offset)
        x = x if k + 1 == len(layers) else node("Tanh", x)
    # action and targets
    x = node("Clip", x, np.float32(-MAX_ACTION), np.float32(MAX_ACTION))
    action_filter, k = float(work.task.action_filter), len(work.moved_motors)
    if action_filter != 1:
        x = node("Add", "action", node("Mul", node("Sub", x, "action"), np.float32(action_filter)))
    node("Identity", x, out="action_next")
    spread = np.zeros((k, work.motors))
    spread[np.arange(k), list(work.moved_motors)] = work.task.action_scale
    target = node("Add", node("MatMul", x, spread), rest)
    clock = _find_clock_column(parts)
    if clock is not None and (up.any() or down.any()):
        wave = node("Gather", "observation", np.array([clock], np.int64), axis=1)
        lifted = node("MatMul", node("Relu", wave), up[None])
        lowered = node("MatMul", node("Relu", node("Neg", wave)), down[None])
        target = node("Add", target, node("Add", lifted, lowered))
    node("Identity", target, out="target")
    # inputs and outputs
    measured = 1 + max(c for part in parts for c in part.columns or ())
    states = _states(work)

    def ports(sizes: dict[str, int]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
            for name, size in sizes.items()
        ]

    graph = helper.make_graph(
        nodes,
        "policy",
        ports({"observation": measured} | states),
        ports({"target": work.motors} | {f"{name}_next": n for name, n in states.items()}),
        initializers,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )


def _find_clock_column(parts: list[_Part]) -> int | None:
    """Find the column of the clock's sine in the network's input; None without a clock."""
    for part in parts:
        for k, term in enumerate(part.terms):
            if term.name == CLOCK_TERM:
                assert part.columns is not None
                return part.columns[k]
    return None
