"""Add and drop variables without contacts or motors; netCDF files have no empty dimensions."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.contact.ledger import SHARES

OPTIONAL = ("contact", "actuator")  # dimensions that may be empty
PER_CONTACT = ("time", "world", "contact")
BY_CONTACT = ("gap", "ground_friction", "slip_speed", "state", *(f"energy_{s}" for s in SHARES))
BY_AXIS = (
    "impulse_contact",
    "force_contact",
    "velocity_before",
    "velocity_after",
    "velocity_correction",
)
BY_XYZ = ("impulse_world", "force_world", "contact_normal", "contact_point")
DIMENSIONS = {
    "tau": ("time", "world", "actuator"),
    **dict.fromkeys(BY_CONTACT, PER_CONTACT),
    **dict.fromkeys(BY_AXIS, (*PER_CONTACT, "axis")),
    **dict.fromkeys(BY_XYZ, (*PER_CONTACT, "xyz")),
}


def drop_empty(log: xr.Dataset) -> xr.Dataset:
    """Remove variables along empty dimensions from the log."""
    return log.drop_dims([name for name in OPTIONAL if not log.sizes[name]])


def add_empty(log: xr.Dataset) -> xr.Dataset:
    """Add the variables that a log without contacts or motors lacks, as empty arrays."""
    absent = [name for name in OPTIONAL if name not in log.sizes]
    if not absent:
        return log
    sizes = {"axis": 3, "xyz": 3, **dict.fromkeys(absent, 0), **log.sizes}
    missing = {}
    for name, dims in DIMENSIONS.items():
        present = [dim for dim in dims if dim in sizes]
        if name not in log and set(present) & set(absent):
            missing[name] = (present, np.zeros([sizes[dim] for dim in present]))
    return log.assign(missing).assign_coords({name: np.zeros(0, str) for name in absent})
