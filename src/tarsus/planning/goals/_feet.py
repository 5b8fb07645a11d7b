"""Costs that goals on legs share: of the feet."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.mechanism import Candidate
from tarsus.morphology.feet import feet
from tarsus.tasks.base import Glimpse


def position(now: Glimpse, foot: Candidate) -> SX:
    """The center (3,) of a foot in the world, m."""
    turn = now.kin.world_rotation[foot.body]
    return now.kin.world_position[foot.body] + ca.mtimes(turn, SX(ca.DM(foot.position)))


def velocity(now: Glimpse, foot: Candidate) -> SX:
    """The velocity (3,) of a foot's center in the world, m/s."""
    kin, arm = now.kin, SX(ca.DM(foot.position))
    moved = kin.velocity[foot.body] + ca.cross(kin.omega[foot.body], arm)
    return ca.mtimes(kin.world_rotation[foot.body], moved)


def dragging(now: Glimpse, clearance: float) -> SX:
    """The squares of the feet's speeds, each by the part of the clearance (m) that it is too low;
    m^2/s^2. A foot stands still or moves up there, so that few long steps cost less than many.
    """
    places = [position(now, foot) for foot in feet(now.kin.mechanism)]
    grounds, found = now.heights(places), SX(0)
    for foot, place, ground in zip(feet(now.kin.mechanism), places, grounds, strict=True):
        gap = place[2] - foot.radius - ground
        low = ca.fmax(1 - ca.fmax(gap, 0) / clearance, 0)
        found += low * ca.sumsqr(velocity(now, foot))
    return found


def off_balance(now: Glimpse, wanted: SX) -> SX:
    """The square of the distance of the feet's middle from the point that the trunk comes to rest
    over, seen from a velocity (2,) that is wanted; m^2. That of the linear inverted pendulum, as
    high as the robot stands.
    """
    kin, own = now.kin, feet(now.kin.mechanism)
    middle = sum((position(now, foot)[:2] for foot in own), SX.zeros(2)) / len(own)
    g = float(np.linalg.norm(kin.mechanism.gravity_acceleration))
    moved = ca.mtimes(now.rotation, kin.velocity[0])[:2] - wanted
    ahead = np.sqrt(float(now.stand[2]) / g) * moved
    return ca.sumsqr(middle - kin.world_position[0][:2] - ahead)


def missing(now: Glimpse, part: float) -> SX:
    """The share of a part of the feet that the ground lacks: 1 in the air, 0 with it down."""
    pressing = [now.pressing[foot.name] for foot in feet(now.kin.mechanism)]
    return ca.fmax(1 - sum(pressing, SX(0)) / (part * len(pressing)), 0)
