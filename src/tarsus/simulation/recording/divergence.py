"""Find where a run stopped being finite or left the physical range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import ForceLaw
from tarsus.errors import UnmetCondition
from tarsus.model.mechanism import Mechanism
from tarsus.parameters.declare import declared_fields
from tarsus.simulation.physical_range import MAX_POSITION, max_rates
from tarsus.simulation.stable_steps import recommended_step
from tarsus.simulation.step_program import Plan

if TYPE_CHECKING:
    import xarray as xr


MIN_REDUCIBLE_DT = 1e-5  # s; a smaller dt would not help


class Diverged(UnmetCondition):
    """A run became non-finite or left the physical range.

    Attributes
    ----------
    log : xarray.Dataset or None
        Log of all steps before.
    subject : str
        Name of the joint that diverged first.

    Examples
    --------
    A joint that turns too fast for the time step:

    >>> import tarsus
    >>> sim = tarsus.Simulation("mini_cheetah")
    >>> u = sim.u
    >>> u[6] = 1e4
    >>> sim.set(u=u)
    >>> try:
    ...     log = sim.run(0.1)
    ... except tarsus.Diverged as error:
    ...     print(error.subject)
    FR_hip_joint
    """

    log: xr.Dataset | None = None

    def __init__(self, message: str, log: xr.Dataset | None = None, subject: object = "") -> None:
        super().__init__(message, subject)
        self.log = log

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.log, self.subject)


@dataclass(frozen=True)
class Fault:
    """First step of a run that diverged.

    Attributes
    ----------
    good_steps
        Number of steps before it.
    message
        Description for the user.
    joint
        Name of the joint that diverged first; empty if none did.
    """

    good_steps: int
    message: str
    joint: str = ""


def find_fault(
    robot: Mechanism, part: Mapping[str, NDArray[Any]], done: int, start: float, dt: float
) -> Fault | None:
    """Find the first step that diverged, or return None.

    A step diverges if it holds a NaN or infinity, turns a joint by more than `MAX_TURN`, moves
    faster than `MAX_SPEED`, or goes farther than `MAX_POSITION`.

    Parameters
    ----------
    robot
        The mechanism.
    part
        Registers "q" and "u" after each step, shape (steps, worlds, size).
    done
        Number of steps before these.
    start
        Time at the start of the run, in s.
    dt
        Time step, in s.
    """
    q, u = part["q"], part["u"]
    with np.errstate(invalid="ignore"):
        fast, far = ~(np.abs(u) <= max_rates(robot, dt)), ~(np.abs(q) <= MAX_POSITION)
    bad = fast.any(-1) | far.any(-1)
    if not bad.any():
        return None

    # find the first fault and its joint
    step, world = (int(k[0]) for k in np.nonzero(bad))
    mask, places = (fast, robot.u_slices) if fast[step, world].any() else (far, robot.q_slices)
    entry = int(np.argmax(mask[step, world]))
    ends = zip(robot.bodies, places, strict=True)
    joint = next(body.joint.name for body, q_slice in ends if entry < q_slice.stop)
    where = f" of world {world}" if part["q"].shape[1] > 1 else ""
    how = "moves faster than its steps can follow" if mask is fast else "left the physical range"
    if not (np.isfinite(u[step, world]).all() and np.isfinite(q[step, world]).all()):
        how = "is no longer finite"
    when = start + (done + step + 1) * dt
    return Fault(
        done + step,
        f"the simulation{where} diverged at t = {when:.4f} s: joint {joint!r} {how}",
        joint,
    )


def complete_with_advice(plan: Plan, q: NDArray[np.float64], dt: float) -> str:
    """Complete the error sentence by advice that may keep the run from diverging.

    It names only what the simulation does not do already.

    Parameters
    ----------
    plan
        Compiled step.
    q
        Coordinates at the start of the run, shape (nq,).
    dt
        Time step, in s.
    """
    remedies: list[str] = []
    if dt > MIN_REDUCIBLE_DT:
        limit = recommended_step(plan, q)
        remedies.append(f"dt = {limit:g} s or less" if limit < dt else "a smaller dt")
    if plan.scene.mechanism.actuators and plan.controller is None:
        remedies.append("smaller torques")
    elif plan.scene.mechanism.actuators and declared_fields(type(plan.controller)):
        remedies.append("softer gains")
    if isinstance(plan.scene.law, ForceLaw) and plan.scene.candidates:
        remedies.append("the law 'moreau'")
    if not remedies:
        return "."
    *others, last = remedies
    return f"; use {', '.join(others)} or {last}." if others else f"; use {last}."
