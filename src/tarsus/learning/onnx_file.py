"""A policy as an ONNX file: what is seen, not scaled, in; actions out, both float32 (n, ...)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tarsus.files import atomic_write, json_text
from tarsus.installation import missing_package
from tarsus.learning.policy import CLIPPED, Policy

OPSET = 17
VERSION = 8  # of the file's format, that of the operators


def package() -> Any:
    """The package `onnx`; TarsusError if it is missing."""
    try:
        import onnx
    except ImportError:
        raise missing_package("onnx", "writing ONNX", "onnx") from None
    return onnx


def save_onnx(policy: Policy, path: str | Path) -> Path:
    """Write it; TarsusError if the package `onnx` is missing."""
    package()
    from onnx import TensorProto, checker, helper, numpy_helper

    # scaled, then layer by layer
    kept: list[Any] = []
    nodes: list[Any] = []

    def node(operator: str, given: Any, out: str, **arrays: Any) -> str:
        kept.extend(
            numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in arrays.items()
        )
        nodes.append(helper.make_node(operator, [given, *arrays], [out]))
        return out

    x = node("Sub", "observation", "moved", mean=policy.scale.mean)
    x = node("Div", x, "scaled", deviation=policy.scale.deviation)
    x = node("Clip", x, "clipped", least=-CLIPPED, most=CLIPPED)
    layers = list(policy.network.layers(policy.weights))
    for k, (matrix, offset) in enumerate(layers):
        x = node("MatMul", x, f"product{k}", **{f"weights{k}": matrix})
        last = k + 1 == len(layers)
        x = node("Add", x, "action" if last else f"sum{k}", **{f"offset{k}": offset})
        x = x if last else node("Tanh", x, f"layer{k}")
    # the file
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in (("observation", len(policy.scale.mean)), ("action", len(layers[-1][1])))
    ]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], kept)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=VERSION
    )
    helper.set_model_props(model, {"tarsus": json_text(policy.about)})
    checker.check_model(model)
    with atomic_write(Path(path)) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)
