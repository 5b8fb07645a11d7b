"""A body placed flush on a slope rests or slides by Coulomb's law from the first step on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.terrain.slope import Slope

DT, STEPS = 2.5e-3, 20
GEOMS = {"box": "type='box' size='.1 .1 .05'", "cylinder": "type='cylinder' size='.1 .05'"}
HALF = 0.05  # m: height of the middle above the slope
DEEP = [0.0, 5e-4]  # m: of the face in the slope; what `moreau` leaves as it is is 5e-4


def laid(kind: str, angle: float, deep: float) -> Robot:
    """Free body whose face is `deep` (m) in a slope that rises along x by `angle`."""
    place = (HALF - deep) * np.array([-math.sin(angle), 0, math.cos(angle)])
    at = " ".join(repr(float(x)) for x in place)
    pose = f"pos='{at}' quat='{math.cos(angle / 2)!r} 0 {-math.sin(angle / 2)!r} 0'"
    part = f"<freejoint/><geom name='part' {GEOMS[kind]} density='1000'/>"
    return Robot.of(
        read_mjcf(f"<mujoco><worldbody><body {pose}>{part}</body></worldbody></mujoco>")
    )


@pytest.mark.diagonal
@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("angle", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("mu", [0.8, 0.05])
@pytest.mark.parametrize("kind", GEOMS)
@pytest.mark.parametrize("law", ["moreau", "lcp_impulse"])
def test_it_rests_or_slides_from_the_first_step_on(
    law: str, kind: str, mu: float, angle: float, deep: float
) -> None:
    """The velocity grows by (g sin - mu g cos) dt per step, or not at all, without rotation.
    Round-off decides which corners touch; it used to turn by 0.15 rad/s in the first step.
    """
    simulation = Simulation(laid(kind, angle, deep), law, terrain=Slope(angle), dt=DT)
    simulation.set(mu=mu)
    downhill = np.array([-math.cos(angle), 0, -math.sin(angle)])
    grows = 9.81 * max(math.sin(angle) - mu * math.cos(angle), 0)
    for k in range(1, STEPS + 1):
        simulation.step()
        u = np.array(simulation.u).ravel()
        np.testing.assert_allclose(u[:3], grows * k * DT * downhill, atol=1e-9)
        np.testing.assert_allclose(u[3:], 0, atol=1e-7)


@pytest.mark.parametrize("kind", GEOMS)
def test_linearized_sinks_evenly(kind: str) -> None:
    """All corners sink equally to the depth of the law, without rotation."""
    simulation = Simulation(laid(kind, 0.3, 0.0), "linearized", terrain=Slope(0.3), dt=DT)
    for _ in range(STEPS):
        simulation.step()
        np.testing.assert_allclose(np.array(simulation.u).ravel()[3:], 0, atol=1e-8)
