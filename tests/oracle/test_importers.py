"""URDF files against Pinocchio: mass matrix, link poses, limits, contact candidates."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.numpy_mechanics import center_of_mass, mass_matrix, poses, random_state
from helpers.robots_of_the_field import label, legged_urdf_files, robots_folder, urdf_files

from tarsus.errors import TarsusWarning
from tarsus.model.conventions import from_pinocchio, to_pinocchio
from tarsus.model.mechanism import Mechanism
from tarsus.model.read import read
from tarsus.model.round_meshes import MAX_TIP_ERROR, MIN_VERTICES

pin = pytest.importorskip("pinocchio")

FILES = urdf_files()
# by module: all tests of a file one after the other, so that it is read once
every_robot = pytest.mark.parametrize("file", FILES, ids=label, scope="module")


@lru_cache(maxsize=4)
def both(file: Path) -> tuple[Mechanism, Any]:
    """Mechanism and Pinocchio's model, with the same joints locked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)
        mechanism = read(file)
    root = (pin.JointModelFreeFlyer(),) if mechanism.floating else ()
    model = pin.buildModelFromUrdf(str(file), *root)
    names = {"universe", "root_joint", *mechanism.joint_names}
    locked = [number for number, name in enumerate(model.names) if name not in names]
    return mechanism, pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def test_robots_of_the_field_are_installed() -> None:
    assert robots_folder() is not None
    assert len(legged_urdf_files()) >= 25


@every_robot
def test_total_mass(file: Path) -> None:
    mechanism, model = both(file)
    moving = sum(inertia.mass for inertia in list(model.inertias)[1:])
    assert mechanism.mass == pytest.approx(moving, rel=1e-12)


@every_robot
def test_mass_matrix_and_center_of_mass(file: Path) -> None:
    mechanism, model = both(file)
    data = model.createData()
    for seed in range(2):
        q, u = random_state(mechanism, seed)
        theirs, _ = to_pinocchio(mechanism, model, q, u)
        M = pin.crba(model, data, theirs)
        M = np.triu(M) + np.triu(M, 1).T
        # v = A u, so that M_ours = A^T M_theirs A
        A = to_pinocchio(mechanism, model, np.tile(q, (mechanism.nu, 1)), np.eye(mechanism.nu))[1].T
        ours = mass_matrix(mechanism, q)
        assert np.abs(ours - A.T @ M @ A).max() < 1e-10 * np.abs(ours).max()
        com = pin.centerOfMass(model, data, theirs)
        assert np.allclose(center_of_mass(mechanism, q), com, rtol=0, atol=1e-11)


@every_robot
def test_poses_of_bodies_and_frames(file: Path) -> None:
    mechanism, model = both(file)
    data = model.createData()
    q, u = random_state(mechanism, 7)
    pin.framesForwardKinematics(model, data, to_pinocchio(mechanism, model, q, u)[0])
    placed = poses(mechanism, q)
    links = [
        (body.name, number, np.zeros(3), np.eye(3)) for number, body in enumerate(mechanism.bodies)
    ]
    links += [
        (frame.name, frame.body, frame.position, frame.rotation) for frame in mechanism.frames
    ]
    assert len(links) == len({name for name, *_ in links})
    for name, body, position, rotation in links:
        x, R = placed[body]
        theirs = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
        assert np.allclose(x + R @ position, theirs.translation, rtol=0, atol=1e-10), name
        assert np.allclose(R @ rotation, theirs.rotation, rtol=0, atol=1e-10), name


@every_robot
def test_conversions_round_trip_in_a_batch(file: Path) -> None:
    mechanism, model = both(file)
    states = [random_state(mechanism, seed) for seed in range(6)]
    q, u = (np.array([state[part] for state in states]).reshape(2, 3, -1) for part in (0, 1))
    theirs, v = to_pinocchio(mechanism, model, q, u)
    assert theirs.shape == (2, 3, model.nq) and v.shape == (2, 3, model.nv)
    back_q, back_u = from_pinocchio(mechanism, model, theirs, v)
    assert np.allclose(back_q, q, rtol=0, atol=1e-14) and np.allclose(back_u, u, rtol=0, atol=1e-14)


@every_robot
def test_limits_and_losses(file: Path) -> None:
    mechanism, model = both(file)
    motors = {actuator.joint: actuator for actuator in mechanism.actuators}
    follow = [coupling.joint for coupling in mechanism.couplings]
    assert not set(follow) & set(motors)  # Pinocchio lets them move on their own
    for body in mechanism.bodies:
        joint = body.joint
        if joint.kind == "free":
            continue
        number = model.getJointId(joint.name)
        at_q, at_v = model.idx_qs[number], model.idx_vs[number]
        if np.isfinite(joint.upper):
            assert joint.lower == model.lowerPositionLimit[at_q]
            assert joint.upper == model.upperPositionLimit[at_q]
        if np.isfinite(joint.velocity_limit):
            assert joint.velocity_limit == model.upperVelocityLimit[at_v]
        assert joint.damping == model.damping[at_v]
        assert joint.dry_friction == model.upperDryFrictionLimit[at_v]
        effort = motors[joint.name].upper if joint.name in motors else 0.0
        assert joint.name in follow or effort == model.upperEffortLimit[at_v]


@pytest.mark.parametrize("stem", ["go2", "talos_full_v2", "bolt", "a1", "hyq_no_sensors"])
def test_candidates_are_corners_of_the_collision_geometry(stem: str) -> None:
    file = next(file for file in FILES if file.stem == stem)
    mechanism, model = both(file)
    folder = robots_folder()
    assert folder is not None
    geometry = pin.buildGeomFromUrdf(
        model, str(file), pin.GeometryType.COLLISION, package_dirs=[str(folder.parent.parent)]
    )
    corners: dict[int, list[np.ndarray]] = {}
    spheres: dict[int, list[np.ndarray]] = {}
    for shape in geometry.geometryObjects:
        points, radius = _points(shape.geometry, shape.meshScale)
        placed = points @ shape.placement.rotation.T + shape.placement.translation
        into = spheres if radius else corners
        into.setdefault(shape.parentJoint, []).append(placed)
    assert len(mechanism.candidates) >= len(geometry.geometryObjects)
    for candidate in mechanism.candidates:
        joint = mechanism.bodies[candidate.body].joint
        number = 1 if joint.kind == "free" else model.getJointId(joint.name)
        if candidate.radius and number not in spheres:  # a ball or ring that a mesh approximates
            away = np.concatenate(corners[number]) - candidate.position
            size = candidate.radius
            if candidate.outline is not None:
                axis = candidate.outline.half_axes()[1][:, 2]
                flat = away - np.outer(away @ axis, axis)
                length = np.linalg.norm(flat, axis=1, keepdims=True)
                away = away - candidate.outline.size * flat / length
                size += candidate.outline.size
            off = np.abs(np.linalg.norm(away, axis=1) - candidate.radius)
            assert (off < MAX_TIP_ERROR * size).sum() >= MIN_VERTICES, candidate.name
            continue
        away = np.concatenate((spheres if candidate.radius else corners)[number])
        away -= candidate.position
        outline, far = candidate.outline, np.linalg.norm(away, axis=1)
        if outline is not None and far.min() > 1e-6:  # a rim of a mesh: it has corners all around
            rim = np.abs(far - outline.size) < 1e-5
            rim &= np.abs(away @ outline.half_axes()[1][:, 2]) < 1e-5
            assert rim.sum() >= 12, candidate.name
            continue
        assert far.min() < 1e-6, candidate.name


def _points(shape: Any, scale: np.ndarray) -> tuple[np.ndarray, float]:
    """Corners (n, 3) of a collision geometry of Pinocchio's library, the middles of a cylinder's
    ends, or the center and radius of a sphere.
    """
    import coal

    signs = np.array([[x, y, z] for x in (1, -1) for y in (1, -1) for z in (1, -1)])
    if isinstance(shape, coal.Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, coal.Box):
        return signs * shape.halfSide, 0.0
    if isinstance(shape, coal.Cylinder):
        return np.array([[0.0, 0.0, shape.halfLength], [0.0, 0.0, -shape.halfLength]]), 0.0
    return np.array(shape.vertices()), 0.0
