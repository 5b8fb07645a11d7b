"""The contract that Tarsus writes into the ONNX file of a policy of its own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile
from tarsus.policies import policy_toml
from tarsus.policies.contract import Contract
from tarsus.policies.importers.base import Importer

KEY = "tarsus_contract"


class Tarsus(Importer):
    """Metadata of policies of `tarsus learn`."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return KEY in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        try:
            table = tomllib.loads(str(data[KEY]))
        except (tomllib.TOMLDecodeError, RecursionError):
            raise InvalidFile(f"{KEY} in {source} is not valid TOML.", KEY) from None
        table = {key: value for key, value in table.items() if key not in policy_toml.PATH_FIELDS}
        return policy_toml.overlay(contract, table, source, Path())
