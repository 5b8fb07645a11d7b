"""ONNX files of policies: unscaled observations in, actions out, both float32 (n, ...)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tarsus.files import atomic_write, json_text
from tarsus.installation import missing_package
from tarsus.learning.policy import CLIP_LIMIT, Policy

OPSET = 17
IR_VERSION = 8  # of the file format that belongs to OPSET


def onnx_package() -> Any:
    """Import the package `onnx`; raise TarsusError if it is missing."""
    try:
        import onnx
    except ImportError:
        raise missing_package("onnx", "writing ONNX", "onnx") from None
    return onnx


def save_onnx(policy: Policy, path: str | Path) -> Path:
    """Write a policy to an ONNX file.

    Parameters
    ----------
    policy
        The policy.
    path
        Path of the file.

    Raises
    ------
    TarsusError
        If the package `onnx` is missing.
    """
    onnx_package()
    from onnx import TensorProto, checker, helper, numpy_helper

    # scaling, then layer by layer
    initializers: list[Any] = []
    nodes: list[Any] = []

    def node(operator: str, source: Any, out: str, **arrays: Any) -> str:
        initializers.extend(
            numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in arrays.items()
        )
        nodes.append(helper.make_node(operator, [source, *arrays], [out]))
        return out

    x = node("Sub", "observation", "moved", mean=policy.scale.mean)
    x = node("Div", x, "scaled", deviation=policy.scale.deviation)
    x = node("Clip", x, "clipped", least=-CLIP_LIMIT, most=CLIP_LIMIT)
    layers = list(policy.network.layers(policy.weights))
    for k, (matrix, offset) in enumerate(layers):
        x = node("MatMul", x, f"product{k}", **{f"weights{k}": matrix})
        last = k + 1 == len(layers)
        x = node("Add", x, "action" if last else f"sum{k}", **{f"offset{k}": offset})
        x = x if last else node("Tanh", x, f"layer{k}")
    # file
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in (("observation", len(policy.scale.mean)), ("action", len(layers[-1][1])))
    ]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], initializers)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    helper.set_model_props(model, {"tarsus": json_text(policy.about)})
    checker.check_model(model)
    with atomic_write(Path(path)) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)
