"""Small ONNX policies with known behavior, and their contracts, for Mini Cheetah."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tarsus.policies.contract import Contract, Term

DT = 0.005
STAND = (0.0, -0.8, 1.6) * 4
TERMS = (
    Term("base_ang_vel", 0.25),
    Term("projected_gravity"),
    Term("joint_pos_rel", history=2),
    Term("last_action"),
)


def network(path: Path, inputs: int, scale: float = 0.05, bias: float = 0.0) -> str:
    """Write a linear network with random weights."""
    rng = np.random.default_rng(1)
    weights = (scale * rng.normal(size=(inputs, 12))).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["obs", "W", "b"], ["actions"])],
        "linear",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, inputs])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, 12])],
        [
            onnx.numpy_helper.from_array(weights, "W"),
            onnx.numpy_helper.from_array(np.full(12, bias, np.float32), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    return str(path)


def contract(folder: Path, scale: float = 0.05, **values: object) -> Contract:
    """Return a contract under which the robot stands."""
    own = {"rate": 50.0, "scale": 0.25, "kp": 40.0, "kd": 1.0, "positions": STAND}
    own |= {"joints": tuple(range(12)), "terms": TERMS, **values}
    return Contract(network(folder / "policy.onnx", 42, scale), **own)  # type: ignore[arg-type]
