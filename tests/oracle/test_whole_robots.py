"""The robots of `tarsus bench --whole` in MuJoCo: the same pairs, gaps, servos and limits."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
from helpers.capsule_biped import biped
from helpers.refused import refused

from tarsus.dynamics.poses import poses
from tarsus.errors import Unsupported
from tarsus.model.file_actuators import FileActuator
from tarsus.morphology.distances import solid_distance
from tarsus.morphology.self_contacts import draw_postures, self_contacts
from tarsus.mujoco_runs.whole_robot import with_pairs_and_servos
from tarsus_bench.whole_cases import STICTION, load_with_servos


def test_pairs_and_servos_match_in_mujoco(tmp_path) -> None:
    path = tmp_path / "biped.xml"
    path.write_text(biped())
    robot = load_with_servos(str(path))
    pairs = self_contacts(robot, True).possible
    assert len(pairs) > 10
    model = mujoco.MjModel.from_xml_string(with_pairs_and_servos(robot, pairs, 0.002, 0.5))
    # the gap of every pair
    q, data = draw_postures(robot, 20), mujoco.MjData(model)
    ours = np.array([solid_distance(pair, poses(robot, q)) for pair in pairs])
    for k, row in enumerate(q):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        geoms = [
            [model.geom(f"solid {solid.name}").id for solid in (pair.first, pair.second)]
            for pair in pairs
        ]
        assert {frozenset(both) for both in geoms} == {
            frozenset(both) for both in zip(model.pair_geom1, model.pair_geom2, strict=True)
        }
        theirs = [mujoco.mj_geomDistance(model, data, *both, 10.0, None) for both in geoms]
        apart_here = ours[:, k] > 0
        np.testing.assert_allclose(ours[apart_here, k], np.array(theirs)[apart_here], atol=1e-6)
    assert (model.pair_friction[:, :2] == 0.5).all()
    # what acts in the joints
    kp = [servo.kp for servo in robot.file_actuators]
    kv = [servo.kv for servo in robot.file_actuators]
    assert min(kp) > 0 and min(kv) > 0
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], kp)
    np.testing.assert_array_equal(-model.actuator_biasprm[:, 2], kv)
    np.testing.assert_array_equal(model.dof_frictionloss[6:], STICTION)
    assert model.jnt_limited[1:].all()
    np.testing.assert_array_equal(robot.signals["stand"][0], robot.keyframes["stand"][7:])


def test_unsupported_actuators_are_rejected(tmp_path) -> None:
    path = tmp_path / "biped.xml"
    path.write_text(biped())
    robot = load_with_servos(str(path))
    damped = FileActuator("damper", robot.actuators[0].joint, bias=(0.0, 0.0, -1.0))
    with refused(Unsupported, "damper"):
        with_pairs_and_servos(replace(robot, file_actuators=(damped,)), (), 0.002, 0.5)
