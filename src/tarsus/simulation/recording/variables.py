"""Define the variables and labels of logs, our own and MuJoCo's: dimensions, units, meanings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from tarsus.contact import criteria
from tarsus.contact.criteria import STATES, SolvedContacts
from tarsus.contact.ledger import SHARES, compute_ledger
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.recording.balance import DIMENSIONS, balance

Array = NDArray[Any]
ROBOT_SHARES = ("motors", "pushes", "joints", "limits", "joint_friction", "drift")
LEADING = ("time", "world")

# ---------------------------------------------------------------- unit and meaning of each variable

VARIABLES = {
    "q": (
        "m, 1, rad",
        "coordinates after the step: world position, unit quaternion (w, x, y, z), joints",
    ),
    "u": (
        "m/s, rad/s",
        "velocities after the step: world linear velocity, body angular velocity, joint rates",
    ),
    "tau": ("N m", "actuator torque during the step, after the limits"),
    "gap": (
        "m",
        "signed distance to the ground where the step first evaluates contacts",
    ),
    "impulse_contact": (
        "N s",
        "impulse on the robot over the step: normal, tangent 1, tangent 2",
    ),
    "impulse_world": ("N s", "impulse on the robot over the step, world frame"),
    "force_contact": ("N", "impulse divided by dt: normal, tangent 1, tangent 2"),
    "force_world": ("N", "impulse divided by dt, world frame"),
    "contact_moment": (
        "N m",
        "moment on the robot of torsional and rolling friction, world frame",
    ),
    "contact_normal": ("1", "outward normal of the ground where the gap is, world frame"),
    "ground_friction": ("1", "terrain factor on the law's friction coefficient"),
    "contact_point": ("m", "contact point where the gap is, world frame"),
    "velocity_before": (
        "m/s",
        "contact velocity before the step, in the contact frame of the gap",
    ),
    "velocity_after": (
        "m/s",
        "contact velocity after the step, in the contact frame of the gap",
    ),
    "velocity_correction": (
        "m/s",
        "velocity that the law adds before it stops the contact: half a step ahead, recovery",
    ),
    "slip_speed": ("m/s", "tangential speed after the step where the contact pushes, else 0"),
    "state": ("1", "0 open, 1 stick, 2 slip"),
    "iterations": ("1", "solver iterations"),
    "converged": ("1", "1 if the solver met its tolerance"),
    "solver_stage": ("1", "stage of the solver that ended the step, by its flag_meanings"),
    "center_of_mass": ("m", "after the step, world frame"),
    "center_of_mass_velocity": ("m/s", "after the step, world frame"),
    "zero_moment_point": (
        "m",
        "mean of the contact points weighted by vertical force, world frame; NaN in flight",
    ),
    "capture_point": (
        "m",
        "where a pendulum above the zero moment point comes to rest: c + c' sqrt(h / g)",
    ),
    "support_margin": (
        "m",
        (
            "from the zero moment point to the edge of the hull of contacts within 1 mm of the"
            " ground, seen from above"
        ),
    ),
    "kinetic_energy": ("J", "after the step"),
    "potential_energy": ("J", "after the step, zero at the world's origin"),
    "energy_impact": ("J", "normal work in the step in which a contact begins to press"),
    "energy_damping": (
        "J",
        "normal work of a pressing contact that takes energy, without the ground's spring",
    ),
    "energy_stabilization": (
        "J",
        "normal work that gives energy, without the ground's spring: recovery",
    ),
    "energy_elastic": ("J", "energy released by the ground's spring, minus energy stored"),
    "energy_friction": (
        "J",
        "tangential work, and that of contact_moment; including energy in a tangential spring",
    ),
    "energy_motors": ("J", "work of the actuators during the step"),
    "energy_pushes": ("J", "work of pushes during the step"),
    "energy_joints": (
        "J",
        "work of joint damping and of loop constraints during the step",
    ),
    "energy_limits": ("J", "work of joint limits during the step"),
    "energy_joint_friction": ("J", "work of joint dry friction during the step"),
    "energy_drift": (
        "J",
        "energy error of the integration: M, c and g are constant during the step",
    ),
    "equation_residual": (
        "N, N m",
        (
            "largest entry of M du/dt - h - W L/dt by the Newton-Euler recursion, or of the missing"
            " momentum / dt of floating robots in flight; NaN for steppers with several"
            " evaluations per step"
        ),
    ),
    "terms_velocity": (
        "m/s, rad/s",
        "velocity of the velocity terms: mean of the step in flight, else at its start",
    ),
}

JOINT_VARIABLES = {  # of robots whose joints have limits or dry friction alone
    "force_limit": ("N m, N", "force of joint limits, mean over the step"),
    "force_joint_friction": ("N m, N", "force of joint dry friction, mean over the step"),
    "joint_friction_residual": (
        "N m, N",
        "largest violation of a joint's dry friction law, at rest or in motion",
    ),
    "force_loop_limit": (
        "N m, N",
        "force of the limits of loop joints, tendons and ball joints, mean over the step",
    ),
}

LOOP_VARIABLES = {  # of robots with cut joints or closed loops alone
    "drift": ("m, rad", "largest gap of a loop joint after the step, m, or sine of an angle"),
    "impulse_constraint": (
        "N s, N m s",
        "impulse of loop joints on their child over the step, row by row of W_B",
    ),
    "force_constraint": ("N, N m", "the same divided by dt: .x, .y, .z along world axes"),
}
PUSH_VARIABLES = {  # of runs whose pushes changed on the way
    "push": (
        "N, N m",
        "external force and moment at the body's origin during the step, world axes",
    ),
}
IMPACT_VARIABLES = {  # of steppers that locate impacts, with laws of impulses
    "impulse_in_impacts": (
        "N s",
        "impulse of located impacts in the step: normal, tangent 1, tangent 2",
    ),
    "force_without_impacts": (
        "N",
        "mean contact force over the step without located impacts",
    ),
    "impact_time": ("s", "time of the impact"),
    "impact_step": ("1", "time index of the step with the impact"),
    "impact_world": ("1", "world of the impact; only in batches"),
    "impact_impulse": ("N s", "impulse of the impact on the robot: normal, tangent 1, tangent 2"),
    "impact_velocity_before": ("m/s", "contact velocity before the impact, contact frame"),
    "impact_velocity_after": ("m/s", "contact velocity after the impact, contact frame"),
    "impact_kinetic_before": ("J", "kinetic energy before the impact"),
    "impact_kinetic_after": ("J", "kinetic energy after the impact"),
    "impact_potential": ("J", "potential energy at the impact, the same before and after"),
    "impact_q": (VARIABLES["q"][0], "coordinates at the impact"),
    "impact_u_before": (VARIABLES["u"][0], "velocities before the impact"),
    "impact_u_after": (VARIABLES["u"][0], "velocities after the impact"),
}
UNCUT_VARIABLES = {  # of robots with cut joints alone
    "q_uncut": (
        VARIABLES["q"][0],
        "coordinates after the step, of the robot with uncut joints; hinges in (-pi, pi]",
    ),
    "u_uncut": (VARIABLES["u"][0], "velocities after the step, of the robot with uncut joints"),
}
PEER_VARIABLES = {  # of other engines, and of robots with joint limits or dry friction
    "passive_force": (
        "N, N m",
        "generalized forces of joint damping, springs, dry friction and limits in the step",
    ),
}


# ---------------------------------------------------------------- names and dimensions


def coordinate_names(mechanism: Mechanism) -> list[str]:
    """Name every entry of q."""
    return _entry_names(
        mechanism, ("x", "y", "z", "qw", "qx", "qy", "qz"), ("qw", "qx", "qy", "qz")
    )


def velocity_names(mechanism: Mechanism) -> list[str]:
    """Name every entry of u."""
    return _entry_names(mechanism, ("vx", "vy", "vz", "wx", "wy", "wz"), ("wx", "wy", "wz"))


def _entry_names(mechanism: Mechanism, free: tuple[str, ...], ball: tuple[str, ...]) -> list[str]:
    suffixes = {"free": free, "ball": ball}
    names = []
    for body in mechanism.bodies:
        ends = suffixes.get(body.joint.kind)
        names += [f"{body.joint.name}.{end}" for end in ends] if ends else [body.joint.name]
    return names


def labels(mechanism: Mechanism, contacts: Sequence[str], time: Array) -> dict[str, Any]:
    """Create the labels along every dimension except `world`.

    Parameters
    ----------
    mechanism
        The robot.
    contacts
        Names of the contacts.
    time
        Time at the end of each step, shape (steps,), in s.
    """
    return {
        "time": ("time", time, {"units": "s"}),
        "coordinate": coordinate_names(mechanism),
        "velocity": velocity_names(mechanism),
        "actuator": [a.name for a in mechanism.actuators],
        "contact": list(contacts),
        "axis": ["normal", "tangent1", "tangent2"],
        "xyz": ["x", "y", "z"],
    }


def contact_variables(
    solved: SolvedContacts, frame: Array, point: Array, friction: Array
) -> dict[str, Any]:
    """Build the contact variables of solved steps.

    Parameters
    ----------
    solved
        Contact problems and solutions, shape (steps, worlds, n), or (steps, n) of one world.
    frame
        Contact frames, rows normal and tangents, shape (..., n, 3, 3), in world axes.
    point
        Contact points, shape (..., n, 3), in world axes, in m.
    friction
        Factor of the ground on the law's friction coefficients, shape (..., n).
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


def balance_variables(
    reports: Mapping[str, Array], contacts: Mapping[str, Any], gravity: float
) -> dict[str, Any]:
    """Build center of mass, zero moment point, capture point and support margin.

    Parameters
    ----------
    reports
        Reports of the observer.
    contacts
        Variables of `contact_variables`.
    gravity
        Gravity acceleration downwards, in m/s^2.
    """
    moving = (reports["center"], reports["center_velocity"])
    points, forces, gaps = (contacts[name][1] for name in ("contact_point", "force_world", "gap"))
    ends = {"center_of_mass": ("xyz",), "center_of_mass_velocity": ("xyz",), **DIMENSIONS}
    values = dict(zip(ends, moving, strict=False)) | balance(*moving, points, forces, gaps, gravity)
    named = {name: ((*LEADING, *end), values[name]) for name, end in ends.items()}
    return named | {"xy": ("xy", ["x", "y"])}


def energy_variables(
    reports: Mapping[str, Array], solved: SolvedContacts, stored: ArrayLike = 0.0
) -> dict[str, Any]:
    """Build the variables of energies, residual and energy ledger.

    The shares of the ledger add up to the change of energy in each step.

    Parameters
    ----------
    reports
        Reports of `step_observables`.
    solved
        Contact problems and solutions.
    stored
        Energy that the ground's springs took in during a step, shape (..., n), in J.
    """
    each = LEADING[: solved.gap.ndim - 1]
    entries = compute_ledger(solved, stored)
    if "moment_work" in reports:
        entries = replace(entries, friction=entries.friction + reports["moment_work"])
    values: dict[str, Any] = {
        "kinetic_energy": (each, reports["kinetic"][..., 0]),
        "potential_energy": (each, reports["potential"][..., 0]),
        "equation_residual": (each, reports["residual"][..., 0]),
    }
    values |= {f"energy_{s}": ((*each, "contact"), getattr(entries, s)) for s in SHARES}
    values |= {f"energy_{s}": (each, reports[f"work_{s}"][..., 0]) for s in ROBOT_SHARES}
    return values | {"energy_start": (each[1:], reports["energy_before"][0, ..., 0])}


def add_descriptions(log: xr.Dataset) -> xr.Dataset:
    """Add unit and meaning to every variable of the log."""
    for name, (unit, meaning) in (
        VARIABLES
        | JOINT_VARIABLES
        | LOOP_VARIABLES
        | UNCUT_VARIABLES
        | PEER_VARIABLES
        | PUSH_VARIABLES
        | IMPACT_VARIABLES
    ).items():
        if name in log:
            log[name].attrs.update(units=unit, long_name=meaning)
    log["state"].attrs.update(flag_values=list(range(len(STATES))), flag_meanings=" ".join(STATES))
    return log
