"""Forces that MuJoCo's integrators add to those in `MjData` by taking damping implicitly.

A step of `implicit` or `implicitfast` solves (M - h D)(v1 - v0) = h F, D = dF/dv, so that the
force F + D (v1 - v0) acted over the step (MuJoCo documentation, "Numerical integration"). D holds
the damping of joints and tendons and the velocity gains of actuators (`kv`); `implicit` adds the
derivative of Coriolis forces. `Euler` takes joint damping alone implicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.mujoco_runs.library import mujoco

Array = NDArray[np.float64]
KNOWN_INTEGRATORS = ("Euler", "implicit", "implicitfast")
"""Integrators whose effective forces are known; `RK4` has no single balance of momentum."""


def integrator_name(model: Any) -> str:
    """Return the name of a model's integrator as MJCF spells it."""
    member: Any = mujoco().mjtIntegrator(model.opt.integrator)
    name = str(member.name).removeprefix("mjINT_")
    return {"EULER": "Euler", "RK4": "RK4"}.get(name, name.lower())


def implicit_forces(model: Any, data: Any, change: Array) -> tuple[Array, Array]:
    """Compute the generalized forces (nv,) that the integrator added in the last step.

    Parameters
    ----------
    model, data
        MuJoCo's `MjModel` and `MjData` after `mj_step`.
    change
        Change of `qvel` over the step, shape (nv,), exact up to rounding.

    Returns
    -------
    motors, passive
        Added forces of the actuators, and all others, in N or N m.
    """
    disabled, flags = model.opt.disableflags, mujoco().mjtDisableBit
    nothing, damped = np.zeros(model.nv), -model.dof_damping * change
    name = integrator_name(model)
    if name == "Euler":
        # older versions of MuJoCo have one flag for springs and dampers
        damper = getattr(flags, "mjDSBL_DAMPER", getattr(flags, "mjDSBL_PASSIVE", 0))
        off = disabled & (flags.mjDSBL_EULERDAMP | damper)
        return nothing, nothing if off else damped
    if name not in KNOWN_INTEGRATORS:
        return nothing, nothing
    sparse = model if hasattr(model, "D_rownnz") else data  # older versions of MuJoCo
    rows = np.repeat(np.arange(model.nv), sparse.D_rownnz)
    whole = np.bincount(rows, data.qDeriv * change[sparse.D_colind], minlength=model.nv)
    moment = actuator_moment(model, data)
    motors = moment.T @ (velocity_gains(model, data) * (moment @ change))
    return motors, whole - motors


def velocity_gains(model: Any, data: Any) -> Array:
    """Compute the derivative (nu,) of every actuator's force with respect to its velocity.

    As in MuJoCo, it is zero where the force is at the limit of its range.
    """
    mj = mujoco()
    if model.opt.disableflags & mj.mjtDisableBit.mjDSBL_ACTUATION:
        return np.zeros(model.nu)
    gains = np.where(model.actuator_biastype == mj.mjtBias.mjBIAS_AFFINE, 1.0, 0.0)
    gains *= model.actuator_biasprm[:, 2]
    direct = model.actuator_dyntype == mj.mjtDyn.mjDYN_NONE
    affine = direct & (model.actuator_gaintype == mj.mjtGain.mjGAIN_AFFINE)
    gains += np.where(affine, model.actuator_gainprm[:, 2] * data.ctrl, 0.0)
    lower, upper = model.actuator_forcerange.T
    inside = (data.actuator_force > lower) & (data.actuator_force < upper)
    return np.where(inside | ~model.actuator_forcelimited.astype(bool), gains, 0.0)


def actuator_moment(model: Any, data: Any) -> Array:
    """Compute the moment arms (nu, nv) of all actuators."""
    moment = np.zeros((model.nu, model.nv))
    if model.nu:
        sparse = (data.moment_rownnz, data.moment_rowadr, data.moment_colind)
        mujoco().mju_sparse2dense(moment, np.ravel(data.actuator_moment), *map(np.ravel, sparse))
    return moment
