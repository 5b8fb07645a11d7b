"""Read ONNX files, and networks of dense layers in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, Unsupported
from tarsus.files import is_file
from tarsus.installation import missing_package_error

Array = NDArray[np.float64]
ACTIVATIONS = ("Elu", "LeakyRelu", "Relu", "Sigmoid", "Softsign", "Tanh")


@dataclass(frozen=True, eq=False)
class DenseLayer:
    """Dense layer y = f(W x + b).

    Attributes
    ----------
    weight, bias
        W (outputs, inputs) and b (outputs,).
    activation
        f: one of `ACTIVATIONS`, or "" for the identity.
    slope
        Parameter alpha of Elu and LeakyRelu.
    """

    weight: Array
    bias: Array
    activation: str = ""
    slope: float = 1.0


def open_onnx(file: Path, purpose: str) -> Any:
    """Read and check the model in an ONNX file.

    Parameters
    ----------
    file
        The file.
    purpose
        What it is read for, for the message if the package onnx is missing.

    Raises
    ------
    InvalidFile
        If the file cannot be read as ONNX.
    MissingPackage
        If the package onnx is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise missing_package_error("onnx", purpose, "policy") from None
    try:
        model = onnx.load(str(file))
        onnx.checker.check_model(model)
    except Exception as error:  # of protobuf, of onnx, or a missing file of weights
        text = first_line(error)
        if "external" in text.lower() or isinstance(error, FileNotFoundError):
            text = "its external weights file is missing. Copy it next to this file."
        raise InvalidFile(f"{file} cannot be read as ONNX: {text}", file) from None
    return model


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__


def read_dense_layers(file: Path, purpose: str) -> tuple[DenseLayer, ...]:
    """Read a network that is a chain of dense layers.

    Raises
    ------
    InvalidFile
        If the file is missing, or cannot be read as ONNX.
    Unsupported
        If the network contains anything else.
    """
    if not is_file(file):
        raise InvalidFile(f"there is no network {file}.", file)
    graph = open_onnx(file, purpose).graph
    from onnx import numpy_helper

    weights = {w.name: np.asarray(numpy_helper.to_array(w), float) for w in graph.initializer}
    inputs = [item.name for item in graph.input if item.name not in weights]
    layers, current = list[DenseLayer](), inputs[0] if len(inputs) == 1 else ""
    for node in graph.node:
        if node.op_type == "Constant":
            weights[node.output[0]] = _constant(node)
            continue
        given = [name for name in node.input if name not in weights]
        constants = [weights[name] for name in node.input if name in weights]
        in_chain = given == [current] and (node.op_type == "Add" or node.input[0] == current)
        layer = _with_node(layers, node, constants) if in_chain else None
        if layer is None:
            raise Unsupported(
                f"{file}: the network must be a chain of dense layers with the activations"
                f" {', '.join(ACTIVATIONS)}, but it contains {node.op_type} {node.name!r}.",
                node.op_type,
            )
        layers, current = layer, node.output[0]
    if not layers or [item.name for item in graph.output] != [current]:
        raise Unsupported(f"{file}: the network must have one input and one output.", file)
    return tuple(layers)


def _constant(node: Any) -> Array:
    from onnx import numpy_helper

    return np.asarray(numpy_helper.to_array(node.attribute[0].t), float)


def _with_node(
    layers: list[DenseLayer], node: Any, constants: list[Array]
) -> list[DenseLayer] | None:
    """Add a node of the graph to the layers; None if it is not part of a dense network."""
    kind, settings = node.op_type, _attributes(node)
    last = layers[-1] if layers else None
    if kind in ("Gemm", "MatMul") and constants and constants[0].ndim == 2:
        transposed = bool(settings.get("transB", 0))
        W = constants[0] if transposed else constants[0].T
        scaled = settings.get("alpha", 1.0) * W
        shift = settings.get("beta", 1.0) * (constants[1] if len(constants) > 1 else np.zeros(1))
        if settings.get("transA", 0) or (layers and layers[-1].weight.shape[0] != W.shape[1]):
            return None
        bias = np.broadcast_to(np.ravel(shift), W.shape[0]).copy()
        return [*layers, DenseLayer(scaled, bias)]
    if last is None or last.activation:
        return None
    if kind == "Add" and len(constants) == 1:
        bias = last.bias + np.ravel(constants[0])
        return [*layers[:-1], DenseLayer(last.weight, bias)]
    if kind in ACTIVATIONS:
        slope = settings.get("alpha", 0.01 if kind == "LeakyRelu" else 1.0)
        return [*layers[:-1], DenseLayer(last.weight, last.bias, kind, slope)]
    return [*layers] if kind == "Identity" else None


def _attributes(node: Any) -> Mapping[str, float]:
    """Return the numeric attributes of a node by name."""
    return {a.name: float(a.f if a.type == a.FLOAT else a.i) for a in node.attribute}
