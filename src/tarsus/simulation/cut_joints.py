"""Convert states between cut and whole robots, and close loops at the start."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import coordinates, loop_closure
from tarsus.errors import TarsusWarning, WarningRecord
from tarsus.model.mechanism import Mechanism
from tarsus.program.run.backend import Backend
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.simulation.inputs import to_numpy
from tarsus.stepping.base import Scene

Array = NDArray[Any]
WARNED_GAP = 1e-6  # m or rad, at the start
WARNED_GAP_WHEN_SET = 1e-3  # m or rad; larger than the drift of a run that may be continued


def close_and_place(scene: Scene, q: Array, records: list[WarningRecord]) -> Array:
    """Compute the initial register q: loops closed, and the robot on the ground.

    Parameters
    ----------
    scene
        Robot, terrain and contact candidates.
    q
        Coordinates of the whole robot, shape (nq,).
    records
        List to which warnings are appended.

    Returns
    -------
    array
        Shape (nq,) or (worlds, nq), in coordinates of the cut robot.
    """
    mechanism = scene.mechanism.uncut or scene.mechanism
    return place_on_ground(
        scene, _close_loops(mechanism, q, records) if mechanism.constrained else q
    )


def _close_loops(mechanism: Mechanism, q: Array, records: list[WarningRecord]) -> Array:
    """Find the nearest coordinates with closed loops, and append warnings about what moved."""
    # mimic joints
    led = loop_closure.apply_couplings(mechanism, q)
    for coupling in mechanism.couplings:
        body = mechanism.joint_index(coupling.joint)
        start = mechanism.q_slices[body].start
        if abs(led[start] - q[start]) > WARNED_GAP:
            unit = "m" if mechanism.bodies[body].joint.kind == "slide" else "rad"
            leaders = ", ".join(map(repr, coupling.leader_names))
            why = f"follows {leaders}" if leaders else "is locked by the file"
            text = (
                f"joint {coupling.joint!r} {why}: it starts at {led[start]:.4g} {unit}, not at"
                f" {q[start]:.4g} {unit} as the keyframe says."
            )
            records.append(WarningRecord(text, "mimic-joint-moved", coupling.joint))
    # loops
    gap, name = loop_closure.largest_gap(mechanism, led)
    closed = loop_closure.close_loops(mechanism, q)
    if gap > WARNED_GAP:
        moved = [float(np.abs(closed[start] - q[start]).max()) for start in mechanism.q_slices]
        text = (
            f"the start posture left {name!r} open by {gap:.3g} m or rad; the joints were moved"
            f" to close it, {mechanism.joint_names[int(np.argmax(moved))]!r} the most, by"
            f" {max(moved):.3g} m or rad."
        )
        records.append(WarningRecord(text, "loops-closed", name))
    return closed


def uncut_state(mechanism: Mechanism, worlds: Backend) -> tuple[Array, Array]:
    """Compute q (worlds, nq) and u (worlds, nu) of the robot before joints were cut."""
    return coordinates.to_uncut(mechanism, worlds.get("q"), worlds.get("u"))


def to_registers(
    mechanism: Mechanism, worlds: Backend, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Convert q and u in values to the coordinates of the registers.

    A q of the whole robot without u keeps the joint rates, a u without q the joint angles. Warns if
    the new q leaves a loop open.
    """
    # coordinates of the cut robot need no conversion
    uncut = mechanism.uncut
    state: dict[str, Any] = {name: values[name] for name in ("q", "u") if name in values}
    sizes = {} if uncut is None else {"q": uncut.nq, "u": uncut.nu}
    if not any(np.shape(value)[-1:] == (sizes.get(name),) for name, value in state.items()):
        _warn_if_open(mechanism, state, worlds)
        return dict(values)
    # take what is not given from the registers
    current = {"q": worlds.get("q"), "u": worlds.get("u")}
    as_cut = {
        name: value for name, value in state.items() if np.shape(value)[-1:] != (sizes[name],)
    }
    full = [
        np.broadcast_to(to_numpy(worlds, as_cut.get(name, current[name])), current[name].shape)
        for name in ("q", "u")
    ]
    # convert to the whole robot, and insert what is given
    q, u = coordinates.to_uncut(mechanism, *full)
    known = {"q": q, "u": u} | {
        name: to_numpy(worlds, value) for name, value in state.items() if name not in as_cut
    }
    # convert back to the cut robot
    both = [np.broadcast_to(known[name], (worlds.count, sizes[name])) for name in ("q", "u")]
    q, u = coordinates.to_cut(mechanism, *both)
    moved = {"q": q, "u": u}
    _warn_if_open(mechanism, moved, worlds)
    return dict(values) | moved


def _warn_if_open(mechanism: Mechanism, state: Mapping[str, Any], worlds: Backend) -> None:
    if not mechanism.constrained or np.shape(state.get("q", ()))[-1:] != (mechanism.nq,):
        return
    gap, name = loop_closure.largest_gap(mechanism, to_numpy(worlds, state["q"]))
    if gap > WARNED_GAP_WHEN_SET:
        text = (
            f"q leaves {name!r} open by {gap:.3g} m or rad; Robot.close_loops(q) returns"
            " coordinates with all loops closed."
        )
        warnings.warn(TarsusWarning(text, "loop-open", name), stacklevel=4)
