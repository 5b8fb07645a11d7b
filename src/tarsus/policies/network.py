"""Load networks from ONNX (onnxruntime) or TorchScript (torch) files and run them in batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, MissingPackage, Unsupported, unknown_name_error
from tarsus.files import is_file
from tarsus.installation import missing_package_error
from tarsus.onnx_files import first_line, open_onnx

Array = NDArray[np.float32]
MAX_FILE_SIZE = 2_000_000_000  # bytes
PURPOSE = "a policy in an ONNX file"
LEARNED_SUFFIX = ".npz"  # file of `tarsus learn`
BATCH_DIMENSION = "worlds"  # name of the first dimension


class PolicyNetwork(Protocol):
    """Network that maps an observation and its recurrent state to an action."""

    @property
    def observations(self) -> int | None:
        """Number of inputs; None if the file does not state it."""
        ...

    @property
    def actions(self) -> int | None:
        """Number of outputs; None if the file does not state it."""
        ...

    def start(self, worlds: int) -> dict[str, Array]:
        """Return the initial recurrent state, zeros, by input name."""
        ...

    def __call__(
        self, observation: Array, memory: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the actions, shape (worlds, n), and the next recurrent state."""
        ...


def load_network(
    path: str | Path,
    states: Sequence[tuple[str, str]] = (),
    names: tuple[str, str] = ("", ""),
) -> PolicyNetwork:
    """Load the network in a file.

    Parameters
    ----------
    path : str or Path
        An ONNX file (.onnx), a TorchScript module (.pt, .jit), or a file of `tarsus learn`.
    states : sequence of pairs
        Input and output names of each recurrent state.
    names : tuple of str
        Names of the observation input and the action output; may be empty if there is only one of
        each besides the states.

    Raises
    ------
    InvalidFile
        If the file cannot be read, or does not hold such a network.
    MissingPackage
        If the package that reads it is not installed.
    """
    file = Path(path)
    if not is_file(file):
        raise InvalidFile(f"there is no network {file}.", file)
    if file.stat().st_size > MAX_FILE_SIZE:
        raise InvalidFile(
            f"{file} is larger than {MAX_FILE_SIZE} bytes, the maximum file size.", file
        )
    if file.suffix in (".pt", ".jit", ".pth"):
        return TorchNetwork(file)
    if file.suffix not in (".onnx", LEARNED_SUFFIX):
        raise InvalidFile(f"{file} is not a network: give an .onnx or a TorchScript file.", file)
    return OnnxNetwork(file, states, names)


@dataclass(frozen=True)
class Port:
    """Name and shape of an input or output; None for dimensions that the file does not state."""

    name: str
    shape: tuple[int | None, ...]

    @property
    def size(self) -> int | None:
        """Number of values per world; None if the file does not state it."""
        rest = self.shape[1:]
        if any(n is None for n in rest):
            return None
        return int(np.prod([n or 0 for n in rest], dtype=int))


class OnnxNetwork:
    """ONNX graph with an open batch dimension, even if the file fixes its size."""

    def __init__(
        self, file: Path, states: Sequence[tuple[str, str]], names: tuple[str, str]
    ) -> None:
        model = read_onnx(file)
        self.file, self.metadata = file, metadata(model)
        ports = _ports(model.graph.input, {w.name for w in model.graph.initializer})
        outputs = _ports(model.graph.output, set())
        self.states = tuple(states) or _pair_states(ports, outputs)
        self._input = _choose_port("input", ports, [a for a, _ in self.states], names[0], file)
        self._output = _choose_port("output", outputs, [b for _, b in self.states], names[1], file)
        self._memory = {port.name: port for port in ports if port.name in dict(self.states)}
        self._session, self._batched = _create_session(model, file), True
        self._test_batching(file)

    @property
    def observations(self) -> int | None:
        """Number of inputs."""
        return self._input.size

    @property
    def actions(self) -> int | None:
        """Number of outputs."""
        return self._output.size

    def start(self, worlds: int) -> dict[str, Array]:
        """Return the initial recurrent state, zeros."""
        return {
            name: np.zeros(tuple(worlds if n is None else n for n in port.shape), np.float32)
            for name, port in self._memory.items()
        }

    def __call__(
        self, observation: Array, memory: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the actions, shape (worlds, n), and the next recurrent state."""
        observations = np.ascontiguousarray(observation, np.float32)
        if self._batched or len(observations) == 1:
            return self._run(observations, memory)
        rows = [
            self._run(
                observations[k : k + 1], {name: _select_world(v, k) for name, v in memory.items()}
            )
            for k in range(len(observations))
        ]
        after = {
            name: np.concatenate([m[name] for _, m in rows], _state_axis(rows[0][1][name]))
            for name in memory
        }
        return np.concatenate([action for action, _ in rows]), after

    def _run(
        self, observations: Array, memory: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        outputs = [self._output.name, *(after for _, after in self.states)]
        feed = {
            self._input.name: observations.reshape(len(observations), *self._observation_shape()),
            **memory,
        }
        try:
            action, *after = self._session.run(outputs, feed)
        except Exception as error:  # onnxruntime has no common class
            raise InvalidFile(
                f"{self.file}: the network cannot take {observations.shape[1]} observations:"
                f" {first_line(error)}",
                self.file,
            ) from None
        next_memory = {before: value for (before, _), value in zip(self.states, after, strict=True)}
        return action.reshape(len(observations), -1), next_memory

    def _observation_shape(self) -> tuple[int, ...]:
        rest = self._input.shape[1:]
        return (-1,) if any(n is None for n in rest) else tuple(n or 0 for n in rest)

    def _test_batching(self, file: Path) -> None:
        """Fall back to one world per call if the graph does not support batches."""
        size = self.observations
        if size is None:
            return
        observations = np.linspace(-1, 1, 2 * size, dtype=np.float32).reshape(2, size)
        alone = [self._run(observations[k : k + 1], self.start(1))[0] for k in range(2)]
        try:
            both = self._run(observations, self.start(2))[0]
            self._batched = bool(np.allclose(both, np.concatenate(alone), rtol=1e-3, atol=1e-4))
        except (InvalidFile, ValueError):
            self._batched = False


def read_onnx(file: Path) -> Any:
    """Read and check the model in an ONNX file or in a policy of `tarsus learn`.

    Raises
    ------
    InvalidFile
        If the file is neither of these.
    """
    if file.suffix != LEARNED_SUFFIX:
        return open_onnx(file, PURPOSE)
    try:
        import onnx
    except ImportError:
        raise missing_package_error("onnx", PURPOSE, "policy") from None
    from tarsus.policies.learned import convert

    return onnx.load_from_string(convert(file, os.stat(file).st_mtime_ns))


def metadata(model: Any) -> dict[str, str]:
    """Return the metadata of an ONNX model, by key."""
    return {item.key: item.value for item in model.metadata_props}


def _create_session(model: Any, file: Path) -> Any:
    """Create a single-threaded session of the graph, with an open batch dimension."""
    try:
        import onnxruntime as runtime
    except ImportError:
        raise missing_package_error("onnxruntime", PURPOSE, "policy") from None
    states = {item.name for item in (*model.graph.input, *model.graph.output)}
    del model.graph.value_info[:]
    for item in (*model.graph.input, *model.graph.output):
        sizes = item.type.tensor_type.shape.dim
        axis = _find_batch_axis([d.dim_value or None for d in sizes])
        if axis is not None and item.name in states:
            sizes[axis].dim_param = BATCH_DIMENSION
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # an operator that is not known, a shape that does not fit
        raise Unsupported(
            f"{file}: onnxruntime cannot run this network: {first_line(error)}", file
        ) from None


def _find_batch_axis(shape: Sequence[int | None]) -> int | None:
    """Find the batch dimension: the second of a shape (layers, 1, n), otherwise the first."""
    if not shape:
        return None
    return 1 if len(shape) == 3 and shape[1] in (1, None) else 0


def _ports(items: Any, weights: set[str]) -> list[Port]:
    ports = []
    for item in items:
        if item.name in weights:
            continue
        sizes = [d.dim_value or None for d in item.type.tensor_type.shape.dim]
        axis = _find_batch_axis(sizes)
        if axis is not None:
            sizes[axis] = None
        ports.append(Port(item.name, tuple(sizes)))
    return ports


def _pair_states(inputs: list[Port], outputs: list[Port]) -> tuple[tuple[str, str], ...]:
    """Pair the inputs and outputs of recurrent states by name, such as h_in and h_out."""
    pairs = []
    for port in inputs:
        name = port.name.lower()
        if not any(word in name for word in ("h_in", "c_in", "hidden", "cell", "state_in")):
            continue
        wanted = port.name.replace("in", "out")
        match = next((o.name for o in outputs if o.name == wanted), None)
        match = match or next(
            (o.name for o in outputs if o.shape == port.shape and o.name[:1] == port.name[:1]), None
        )
        if match:
            pairs.append((port.name, match))
    return tuple(pairs)


def _choose_port(kind: str, ports: list[Port], states: list[str], name: str, file: Path) -> Port:
    """Return the input for observations, or the output for actions."""
    known = [port for port in ports if port.name not in states]
    if name:
        for port in known:
            if port.name == name:
                return port
        raise unknown_name_error(f"{kind} of the network", name, [port.name for port in known])
    if len(known) == 1:
        return known[0]
    likely = [p for p in known if p.name.lower() in ("obs", "observation", "actions", "action")]
    if len(likely) == 1:
        return likely[0]
    listed = ", ".join(f"{port.name} {port.shape}" for port in known) or "none"
    raise InvalidFile(
        f"{file} has several {kind}s besides its states ({listed}): set {kind} in the contract.",
        kind,
    )


def _select_world(value: Array, k: int) -> Array:
    return value[:, k : k + 1] if value.ndim == 3 else value[k : k + 1]


def _state_axis(value: Array) -> int:
    return 1 if value.ndim == 3 else 0


class TorchNetwork:
    """TorchScript module; a recurrent one stores its own state."""

    def __init__(self, file: Path) -> None:
        try:
            import torch  # type: ignore[import-not-found]
        except ImportError:
            raise MissingPackage(
                "TorchScript policies need the package torch: install it, or export the policy to"
                " ONNX.",
                "torch",
            ) from None
        self._torch = torch
        try:
            self._module = torch.jit.load(str(file), map_location="cpu").eval()
        except Exception as error:  # torch has no common class
            raise InvalidFile(
                f"{file} cannot be read as TorchScript: {first_line(error)}", file
            ) from None
        self.file, self.metadata = file, dict[str, str]()

    observations: int | None = None
    actions: int | None = None

    def start(self, worlds: int) -> dict[str, Array]:
        """Reset the state inside the module, if it can be reset, and return an empty dict."""
        if hasattr(self._module, "reset_memory"):
            self._module.reset_memory()
        return {}

    def __call__(
        self, observation: Array, memory: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """Return actions (worlds, n)."""
        with self._torch.inference_mode():
            try:
                action = self._module(self._torch.from_numpy(np.asarray(observation, np.float32)))
            except Exception as error:
                raise InvalidFile(
                    f"{self.file}: the network cannot take {observation.shape[1]} observations:"
                    f" {first_line(error)}",
                    self.file,
                ) from None
        return action.numpy().reshape(len(observation), -1), {}
