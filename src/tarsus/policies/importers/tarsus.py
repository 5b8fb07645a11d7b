"""Read the contract that `tarsus learn --onnx` writes into its file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile
from tarsus.policies import policy_toml
from tarsus.policies.contract import Contract
from tarsus.policies.importers.base import Importer

CONTRACT_KEY = "tarsus_contract"  # metadata key: the text of a policy.toml


class Tarsus(Importer):
    """Importer of the contract in policies of `tarsus learn`."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return CONTRACT_KEY in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        try:
            table = tomllib.loads(str(data[CONTRACT_KEY]))
        except (tomllib.TOMLDecodeError, RecursionError):
            raise InvalidFile(
                f"{CONTRACT_KEY} in {source} is not valid TOML.", CONTRACT_KEY
            ) from None
        # the file itself is the network, so it must not name other files
        table = {key: value for key, value in table.items() if key not in policy_toml.PATH_FIELDS}
        return policy_toml.overlay(contract, table, source, Path())
