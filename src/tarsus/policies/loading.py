"""Load a contract from a network, the configuration next to it, and settings of the user.

Later sources replace values of earlier ones: the network's metadata, then the configuration found
next to the network or named by the user, then values that the user sets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tarsus import registry
from tarsus.errors import InvalidFile, InvalidValue
from tarsus.files import is_file, read_toml
from tarsus.installation import missing_package_error
from tarsus.policies import policy_toml
from tarsus.policies.contract import Contract
from tarsus.policies.importers.base import Importer
from tarsus.policies.network import LEARNED_SUFFIX, metadata, read_onnx

IMPORTERS = "tarsus.policies.importers"
NETWORK_SUFFIXES = (".onnx", ".pt", ".jit", ".pth", LEARNED_SUFFIX)
LEARNED_FILE = f"policy{LEARNED_SUFFIX}"  # in the folder of `tarsus learn`
CONFIG_NAMES = ("policy.toml", "deploy.yaml", "config.yaml")  # in order of preference
SUBFOLDERS = (".", "exported", "params")
MAX_CONFIG_SIZE = 20_000_000  # bytes of a configuration


def load_contract(
    policy: str | Path, config: str | Path | None = None, settings: Sequence[str] = ()
) -> Contract:
    """Load the contract of a policy.

    Parameters
    ----------
    policy : str or Path
        A network (.onnx, TorchScript), a policy.toml, a folder with one of them, or a policy of
        `tarsus learn`.
    config : str or Path or None
        Configuration file, policy.toml or YAML; None for the one next to the network.
    settings : sequence of str
        Values that replace those in files, each "NAME=VALUE" in TOML syntax, such as "rate=50".

    Raises
    ------
    InvalidFile
        If a file is missing or invalid.
    UnknownName
        If a field or an observation term does not exist.
    """
    policy = Path(policy)
    written = _find_contract(policy)
    network = _find_network(policy) if written is None else policy_toml.network_of(written)
    contract = Contract("").with_values("given", network=str(network))
    if network.suffix in (".onnx", LEARNED_SUFFIX):
        data = metadata(read_onnx(_require_file(network)))
        contract = _import(contract, data, f"metadata of {network.name}")
    files = _find_config(policy) if written is None and config is None else [written, config]
    for file in filter(None, files):
        contract = _overlay_file(contract, Path(file))
    return _apply_settings(contract, settings)


def _overlay_file(contract: Contract, file: Path) -> Contract:
    """Replace values of a contract by those of a configuration file."""
    if not is_file(file):
        raise InvalidFile(f"there is no file {file}.", file)
    if file.stat().st_size > MAX_CONFIG_SIZE:
        raise InvalidFile(
            f"{file} is larger than {MAX_CONFIG_SIZE} bytes, the maximum file size.", file
        )
    if file.suffix == ".toml":
        return policy_toml.overlay(contract, read_toml(file), file.name, file.parent)
    data = yaml_table(file)
    imported = _import(contract, data, file.name)
    if imported is contract:
        raise InvalidFile(
            f"{file} is not a supported configuration: it has the keys"
            f" {', '.join(map(str, list(data)[:8]))}. Write a policy.toml.",
            file,
        )
    return imported


def _import(contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
    for name in registry.names(IMPORTERS):
        importer = registry.member_class(IMPORTERS, "importer", name, Importer)()  # type: ignore[type-abstract]
        if importer.recognizes(data):
            return importer.fill(contract, data, source)
    return contract


def _find_contract(policy: Path) -> Path | None:
    """Find the policy.toml: the given file, or the one in the given folder; None without one."""
    if policy.suffix == ".toml":
        return _require_file(policy)
    written = policy / CONFIG_NAMES[0]
    return written if os.path.isdir(policy) and is_file(written) else None


def _folders(policy: Path) -> list[Path]:
    """Return the folders in which a trainer stores a network and its configuration."""
    if not os.path.isdir(policy):
        return [policy.parent]
    return [policy / name for name in SUBFOLDERS if os.path.isdir(policy / name)]


def _find_network(policy: Path) -> Path:
    """Find the network: the given file, or the only one in the given folder."""
    if not os.path.isdir(policy):
        return _require_file(policy)
    if is_file(policy / LEARNED_FILE):
        return policy / LEARNED_FILE
    networks = [
        f for d in _folders(policy) for f in sorted(d.iterdir()) if f.suffix in NETWORK_SUFFIXES
    ]
    if len(networks) != 1:
        listed = ", ".join(f.name for f in networks) or "none"
        raise InvalidFile(
            f"{policy} must contain one network or a policy.toml; networks found: {listed}.", policy
        )
    return networks[0]


def _find_config(policy: Path) -> list[Path]:
    """Find the configuration next to a network, the first of `CONFIG_NAMES`; empty without any."""
    files = [d / name for d in _folders(policy) for name in CONFIG_NAMES if is_file(d / name)]
    return files[:1]


def _require_file(file: Path) -> Path:
    if not is_file(file):
        raise InvalidFile(f"there is no policy {file}.", file)
    return file


def yaml_table(file: Path) -> dict[str, Any]:
    """Read the table of a YAML file; tags of Python objects are read as plain data.

    Raises
    ------
    InvalidFile
        If the file cannot be read or does not contain a table.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.constructor import SafeConstructor
    except ImportError:
        raise missing_package_error("ruamel.yaml", "a policy's YAML file", "policy") from None

    class PlainConstructor(SafeConstructor):
        """Constructor that ignores tags and reads the tagged values."""

    def plain(constructor: Any, suffix: str, node: Any) -> Any:
        if hasattr(node, "value") and isinstance(node.value, str):
            return constructor.construct_scalar(node)
        if node.value and isinstance(node.value[0], tuple):
            return constructor.construct_mapping(node, deep=True)
        return constructor.construct_sequence(node, deep=True)

    PlainConstructor.add_multi_constructor("", plain)
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = PlainConstructor
    reader.allow_duplicate_keys = False
    try:
        data = reader.load(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise InvalidFile(f"{file} is nested too deeply.", file) from None
    except Exception as error:  # the parser's exceptions have no common base class
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise InvalidFile(f"{file}{line} is not valid YAML.", file) from None
    if not isinstance(data, dict):
        raise InvalidFile(f"{file} must be a table of names and values.", file)
    return data


def _apply_settings(contract: Contract, settings: Sequence[str]) -> Contract:
    """Replace values of a contract by those that the user sets."""
    import tomllib

    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise InvalidValue(f"{text!r} must be NAME=VALUE.", text)
        try:
            data = tomllib.loads(f"value = {value}")
        except (tomllib.TOMLDecodeError, RecursionError):
            data = {"value": value}  # a word without quotes
        table = {name.strip().replace("-", "_"): data["value"]}
        contract = policy_toml.overlay(contract, table, "set", Path())
    return contract
