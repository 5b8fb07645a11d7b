"""Costs of the feet, shared by goals for legged robots."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.mechanism import Candidate
from tarsus.morphology.feet import find_feet
from tarsus.tasks.base import StateView


def position(state: StateView, foot: Candidate) -> SX:
    """Compute the center of a foot, shape (3,), in m, world axes."""
    rotation = state.kin.world_rotation[foot.body]
    return state.kin.world_position[foot.body] + ca.mtimes(rotation, SX(ca.DM(foot.position)))


def velocity(state: StateView, foot: Candidate) -> SX:
    """Compute the velocity of a foot's center, shape (3,), in m/s, world axes."""
    kin, arm = state.kin, SX(ca.DM(foot.position))
    local = kin.velocity[foot.body] + ca.cross(kin.omega[foot.body], arm)
    return ca.mtimes(kin.world_rotation[foot.body], local)


def drag_cost(state: StateView, clearance: float) -> SX:
    """Sum the squared speeds of the feet that are too low, in m^2/s^2.

    Each squared speed is weighted by the fraction of the clearance (m) that its foot lacks. This
    makes feet stand still or move up, and few long steps cheaper than many short ones.
    """
    positions = [position(state, foot) for foot in find_feet(state.kin.mechanism)]
    heights, total = state.heights(positions), SX(0)
    for foot, point, height in zip(find_feet(state.kin.mechanism), positions, heights, strict=True):
        gap = point[2] - foot.radius - height
        lack = ca.fmax(1 - ca.fmax(gap, 0) / clearance, 0)
        total += lack * ca.sumsqr(velocity(state, foot))
    return total


def balance_cost(state: StateView, wanted: SX) -> SX:
    """Compute the squared distance of the middle of the feet from the capture point, in m^2.

    The capture point is that of a linear inverted pendulum at the standing height, for the velocity
    relative to `wanted`, shape (2,), in m/s.
    """
    kin, own_feet = state.kin, find_feet(state.kin.mechanism)
    middle = sum((position(state, foot)[:2] for foot in own_feet), SX.zeros(2)) / len(own_feet)
    g = float(np.linalg.norm(kin.mechanism.gravity_acceleration))
    excess = ca.mtimes(state.rotation, kin.velocity[0])[:2] - wanted
    ahead = np.sqrt(float(state.stand[2]) / g) * excess
    return ca.sumsqr(middle - kin.world_position[0][:2] - ahead)


def missing_share(state: StateView, fraction: float) -> SX:
    """Compute the fraction of missing stance feet, 0 to 1; `fraction` of all feet should stand."""
    stance = [state.in_contact[foot.name] for foot in find_feet(state.kin.mechanism)]
    return ca.fmax(1 - sum(stance, SX(0)) / (fraction * len(stance)), 0)
