"""A limb on one joint strikes the ground: its normal and tangential motions are coupled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tarsus

ARM = """<mujoco><worldbody>
<body name="arm" pos="0 0 .2"><joint name="a" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 .05 0 0 .4" size=".04" mass="1"/></body>
<body name="chest" pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
</worldbody></mujoco>"""
WORLDS = 300


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_fast_box_comes_to_rest_next_to_a_standing_one(precision: str, tmp_path: Path) -> None:
    """Round-off between the two components used to throw arms up, in steps that counted as
    solved.
    """
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    simulation = tarsus.Simulation(
        file, worlds=WORLDS, dt=0.0025, contacts="all", limits=False, precision=precision
    )
    rng = np.random.default_rng(0)
    q = np.tile(simulation.q[0], (WORLDS, 1))
    q[:, 0] = rng.choice([-1, 1], WORLDS) * rng.uniform(1.9, 1.97, WORLDS)
    u = np.zeros((WORLDS, simulation.robot.nu))
    u[:, 0] = np.sign(q[:, 0]) * rng.uniform(0.5, 4, WORLDS)
    simulation.set(q=q, u=u)
    log = simulation.run(0.1)
    force, after = log.force_contact.values[..., 0], log.velocity_after.values[..., 0]
    energy = (log.kinetic_energy + log.potential_energy).values
    assert (force > 1).any(axis=(0, 2)).all()  # all arms strike
    assert np.where(force > 1, after, 0).max() < 0.02  # m/s: what brings up a depth
    assert np.diff(energy, axis=0).max() < 2e-3  # J
    assert log.converged.values.all()
