"""How the place where the ground is nearest moves along a line or over a face of a body."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from tarsus.stepping.base import Scene

FLATTEST = 0.75  # by half a line: on ground less round than that the place moves no faster
AHEAD = 1e-3  # m: how far from it the ground is looked at to see how it turns
TINY = 1e-12  # m


def travel(
    normal: SX, line: SX, turned: SX, spin: SX, velocity: SX, rising: SX | float = 0.0
) -> SX:
    """How fast (3,), m/s, the place where the ground is nearest moves along a line with its body:
    the ground's normal there stays at a right angle to it.

    normal (3,): the ground's; turned (3,): how it turns along the line (`turning`), 1/m
    line (3,): along it; spin (3,), velocity (3,): the body's and that of the place, world
    rising: how much the line itself bends away from the ground (`Curve.rising`), 1/m
    """
    half = ca.sqrt(ca.dot(line, line) + TINY**2)
    along = line / half
    out = ca.dot(normal, ca.cross(spin, along)) + ca.dot(turned, velocity)
    return -out / ca.fmax(ca.dot(turned, along) + rising, FLATTEST / half) * along


def travels(
    scene: Scene,
    terrain: object,
    center: SX,
    ways: Sequence[tuple[SX, SX | float]],
    moving: tuple[SX, SX, SX],
) -> SX:
    """The same along each of some lines (3,) from a place (3,), with their `rising`, together.

    moving: the ground's normal, the body's spin and the velocity there, (3,) each
    """
    normal, spin, velocity = moving
    found = SX.zeros(3)
    for line, rising in ways:
        turned = turning(scene, terrain, center, line)
        found += travel(normal, line, turned, spin, velocity, rising)
    return found


def turning(scene: Scene, terrain: object, center: SX, line: SX) -> SX:
    """How the ground's normal (3,) changes on the way along a line (3,) from a point (3,), 1/m."""
    along = line / ca.sqrt(ca.dot(line, line) + TINY**2)
    ways = [center + way * along for way in (-AHEAD, AHEAD)]
    before, behind = (frame[0, :].T for _, frame in scene.terrain.surfaces(ways, terrain))
    return (behind - before) / (2 * AHEAD)
