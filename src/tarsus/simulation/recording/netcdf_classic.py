"""Encode NetCDF's classic format with 64-bit offsets and an unlimited first dimension.

SciPy's writer puts scalar variables into the first unlimited record, whatever is stored there.
SciPy (through xarray) decides how values are encoded; this module decides where they are stored:
first everything of fixed size, then record after record.

Source: NetCDF Users Guide, appendix B, "File Format Specifications".
"""

from __future__ import annotations

import struct
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.io import netcdf_file

MAGIC = b"CDF\x02"
COUNT_OFFSET = len(MAGIC)  # position of the number of records, 4 bytes, big-endian
DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
TYPES = {"i1": 1, "S1": 2, "i2": 3, "i4": 4, "f4": 5, "f8": 6}
CHARACTERS = "S1"


def encode(log: xr.Dataset, unlimited: str) -> tuple[bytes, bytes]:
    """Encode the bytes of a file before its records, and the bytes of its records."""
    with netcdf_file(BytesIO(bytes(log.to_netcdf(engine="scipy"))), mmap=False) as file:
        sizes = {str(name): int(size or 0) for name, size in file.dimensions.items()}
        variables = {str(name): _Variable(v) for name, v in file.variables.items()}
        attributes = dict(file._attributes)  # type: ignore[attr-defined]
    steps = {n: v for n, v in variables.items() if v.dimensions[:1] == (unlimited,)}
    fixed = {n: v for n, v in variables.items() if n not in steps}

    # encode twice, because offsets depend on the header's length
    count, head = sizes[unlimited], b""
    for _ in range(2):
        places, offset = dict[str, int](), len(head)
        for name, variable in (*fixed.items(), *steps.items()):
            places[name] = offset
            offset += variable.size_in_file(name in steps)
        lengths = sizes | {unlimited: 0}
        listed = [
            _header(
                n,
                v,
                [list(sizes).index(d) for d in v.dimensions],
                (v.size_in_file(n in steps), places[n]),
            )
            for n, v in {**fixed, **steps}.items()
        ]
        head = b"".join((
            MAGIC + struct.pack(">i", count),
            _list(DIMENSION, [_name(n) + struct.pack(">i", size) for n, size in lengths.items()]),
            _attributes(attributes),
            _list(VARIABLE, listed),
        ))  # fmt: skip
    # the data
    head += b"".join(_pad(v.data.tobytes()) for v in fixed.values())
    rows = [v.data.reshape(count, -1).view(np.uint8).reshape(count, -1) for v in steps.values()]
    padded = [np.pad(row, ((0, 0), (0, -row.shape[1] % 4))) for row in rows]
    return head, np.concatenate(padded, axis=1).tobytes()


class _Variable:
    """An encoded variable: dimensions, attributes, big-endian data."""

    def __init__(self, variable: Any) -> None:
        self.dimensions: tuple[str, ...] = tuple(variable.dimensions)
        self.attributes = dict(variable._attributes)
        data = np.array(variable.data)
        self.data: NDArray[Any] = np.ascontiguousarray(data.astype(data.dtype.newbyteorder(">")))

    def size_in_file(self, per_record: bool) -> int:
        """Compute the size of the variable in bytes, in total or per record."""
        shape = self.data.shape[1:] if per_record else self.data.shape
        return -(-prod(shape) * self.data.itemsize // 4) * 4


def _header(
    name: str, variable: _Variable, dimensions: list[int], extent: tuple[int, int]
) -> bytes:
    """Encode the header entry of a variable: name, dimension numbers, size and offset."""
    size, begin = extent
    return b"".join((
        _name(name),
        struct.pack(f">i{len(dimensions)}i", len(dimensions), *dimensions),
        _attributes(variable.attributes),
        struct.pack(">iIq", TYPES[variable.data.dtype.str[1:]], min(size, 2**32 - 1), begin),
    ))  # fmt: skip


def _attributes(attributes: dict[str, Any]) -> bytes:
    return _list(ATTRIBUTE, [_name(name) + _values(value) for name, value in attributes.items()])


def _values(value: Any) -> bytes:
    """Encode type, count and values of an attribute."""
    if isinstance(value, str | bytes):
        text = value.encode() if isinstance(value, str) else value
        return struct.pack(">ii", TYPES[CHARACTERS], len(text)) + _pad(text)
    numbers = np.atleast_1d(np.asarray(value))
    kind = numbers.dtype.str[1:]
    data = numbers.astype(f">{kind}").tobytes()
    return struct.pack(">ii", TYPES[kind], len(numbers)) + _pad(data)


def _list(tag: int, parts: list[bytes]) -> bytes:
    return struct.pack(">ii", tag if parts else 0, len(parts)) + b"".join(parts)


def _name(text: str) -> bytes:
    return struct.pack(">i", len(text.encode())) + _pad(text.encode())


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
