"""Variables and labels of a log, of our own runs and of MuJoCo's: dimensions, units, meanings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from tarsus.contact import criteria
from tarsus.contact.criteria import STATES, Solved
from tarsus.contact.ledger import SHARES, ledger
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.recording.balance import BALANCE, balance
from tarsus.simulation.recording.units import JOINTS, LOOPS, PEER, PUSHED, STRIKES, UNCUT, UNITS

Array = NDArray[Any]
ROBOT_SHARES = ("motors", "pushes", "joints", "limits", "joint_friction", "drift")
LEADING = ("time", "world")


def coordinate_names(mechanism: Mechanism) -> list[str]:
    """A name for every entry of q."""
    return _entry_names(
        mechanism, ("x", "y", "z", "qw", "qx", "qy", "qz"), ("qw", "qx", "qy", "qz")
    )


def velocity_names(mechanism: Mechanism) -> list[str]:
    """A name for every entry of u."""
    return _entry_names(mechanism, ("vx", "vy", "vz", "wx", "wy", "wz"), ("wx", "wy", "wz"))


def _entry_names(mechanism: Mechanism, free: tuple[str, ...], ball: tuple[str, ...]) -> list[str]:
    suffixes = {"free": free, "ball": ball}
    names = []
    for body in mechanism.bodies:
        ends = suffixes.get(body.joint.kind)
        names += [f"{body.joint.name}.{end}" for end in ends] if ends else [body.joint.name]
    return names


def labels(mechanism: Mechanism, contacts: Sequence[str], time: Array) -> dict[str, Any]:
    """Names along every dimension but `world`; time (steps,), s, at the end of each step."""
    return {
        "time": ("time", time, {"units": "s"}),
        "coordinate": coordinate_names(mechanism),
        "velocity": velocity_names(mechanism),
        "actuator": [a.name for a in mechanism.actuators],
        "contact": list(contacts),
        "axis": ["normal", "tangent1", "tangent2"],
        "xyz": ["x", "y", "z"],
    }


def of_contacts(solved: Solved, frame: Array, point: Array, friction: Array) -> dict[str, Any]:
    """What is known of the contacts: solved (steps, worlds, n), or (steps, n) of one world.

    frame (..., n, 3, 3): rows normal and tangents; point (..., n, 3), m, both in the world.
    friction (..., n): the ground's factor on the law's friction coefficients [1].
    """
    # impulses along the world's axes; names of the dimensions
    in_world = np.einsum("...ij,...i->...j", frame, solved.impulse)
    contact = (*LEADING[: solved.gap.ndim - 1], "contact")
    axis, xyz = (*contact, "axis"), (*contact, "xyz")
    correction = np.broadcast_to(solved.correction, solved.impulse.shape)
    return {
        "gap": (contact, solved.gap),
        "impulse_contact": (axis, solved.impulse),
        "impulse_world": (xyz, in_world),
        "force_contact": (axis, solved.impulse / solved.dt),
        "force_world": (xyz, in_world / solved.dt),
        "contact_normal": (xyz, frame[..., 0, :]),
        "ground_friction": (contact, friction),
        "contact_point": (xyz, point),
        "velocity_before": (axis, solved.before),
        "velocity_after": (axis, solved.after),
        "velocity_correction": (axis, correction),
        "slip_speed": (contact, criteria.slip_speed(solved)),
        "state": (contact, criteria.state(solved)),
    }


def of_balance(
    seen: Mapping[str, Array], contacts: Mapping[str, Any], gravity: float
) -> dict[str, Any]:
    """Center of mass, zero moment point, capture point and support margin.

    seen: the observer's reports; contacts: of `of_contacts`; gravity: m/s^2, downwards
    """
    moving = (seen["center"], seen["center_velocity"])
    points, forces, gaps = (contacts[name][1] for name in ("contact_point", "force_world", "gap"))
    ends = {"center_of_mass": ("xyz",), "center_of_mass_velocity": ("xyz",), **BALANCE}
    found = dict(zip(ends, moving, strict=False)) | balance(*moving, points, forces, gaps, gravity)
    named = {name: ((*LEADING, *end), found[name]) for name, end in ends.items()}
    return named | {"xy": ("xy", ["x", "y"])}


def of_energies(
    seen: Mapping[str, Array], solved: Solved, stored: ArrayLike = 0.0
) -> dict[str, Any]:
    """Energies, the residual and the energy ledger, whose sum is every step's change of energy.

    seen: the reports of `step_observables`
    stored: how much more the ground's springs hold after a step (..., n), J
    """
    each = LEADING[: solved.gap.ndim - 1]
    entries = ledger(solved, stored)
    found: dict[str, Any] = {
        "kinetic_energy": (each, seen["kinetic"][..., 0]),
        "potential_energy": (each, seen["potential"][..., 0]),
        "equation_residual": (each, seen["residual"][..., 0]),
    }
    found |= {f"energy_{s}": ((*each, "contact"), getattr(entries, s)) for s in SHARES}
    found |= {f"energy_{s}": (each, seen[f"work_{s}"][..., 0]) for s in ROBOT_SHARES}
    return found | {"energy_start": (each[1:], seen["energy_before"][0, ..., 0])}


def described(log: xr.Dataset) -> xr.Dataset:
    """The log with the unit and the meaning of every variable."""
    for name, (unit, meaning) in (UNITS | JOINTS | LOOPS | UNCUT | PEER | PUSHED | STRIKES).items():
        if name in log:
            log[name].attrs.update(units=unit, long_name=meaning)
    log["state"].attrs.update(flag_values=list(range(len(STATES))), flag_meanings=" ".join(STATES))
    return log
