"""Random trees from Hypothesis against Pinocchio: any joints, branching and axes."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
import pytest
from helpers.dynamics_oracles import (
    Interpreted,
    Pinocchio,
    error_of_force,
    error_of_matrix,
    relative_error,
)
from helpers.numpy_mechanics import random_state
from helpers.random_mechanisms import Numbers, Tree, mechanism_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tarsus.model.check import check
from tarsus.model.mechanism import WORLD, Mechanism
from tarsus.model.urdf import read_urdf

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10
QUICK = settings(max_examples=40, deadline=None, derandomize=True, database=None)
THOROUGH = settings(max_examples=500, deadline=None, database=None)


@st.composite
def shapes(draw: st.DrawFn, root: list[str], inner: list[str]) -> list[tuple[int, str]]:
    """A tree as (parent, kind) for each body, depth-first."""
    found: list[tuple[int, str]] = []
    open_path = [WORLD]  # where the next body may hang
    for number in range(draw(st.integers(1, 7))):
        parent = open_path[draw(st.integers(0, len(open_path) - 1))]
        kind = draw(st.sampled_from(root if parent == WORLD else inner))
        found.append((parent, kind))
        open_path = [*open_path[: open_path.index(parent) + 1], number]
    return found


def pinocchio_model(mechanism: Mechanism) -> Any:
    model = pin.Model()
    for number, body in enumerate(mechanism.bodies):
        joint = {
            "free": pin.JointModelFreeFlyer,
            "ball": pin.JointModelSpherical,
            "hinge": lambda axis=body.joint.axis: pin.JointModelRevoluteUnaligned(axis),
            "slide": lambda axis=body.joint.axis: pin.JointModelPrismaticUnaligned(axis),
        }[body.joint.kind]()
        place = pin.SE3(body.rotation.copy(), body.position.copy())
        added = model.addJoint(body.parent + 1, joint, place, body.joint.name)
        assert added == number + 1
        matter = pin.Inertia(
            body.inertia.mass, body.inertia.com.copy(), body.inertia.about_com.copy()
        )
        model.appendBodyToJoint(added, matter, pin.SE3.Identity())
        if body.joint.kind in ("hinge", "slide"):
            model.armature[model.joints[added].idx_v] = body.joint.armature
    for frame in mechanism.frames:
        place = pin.SE3(frame.rotation.copy(), frame.position.copy())
        model.addFrame(pin.Frame(frame.name, frame.body + 1, 0, place, pin.FrameType.OP_FRAME))
    return model


def assert_like_pinocchio(mechanism: Mechanism, model: Any, kind_of_frame: Any, seed: int) -> None:
    ask, (q, u) = Interpreted(mechanism), random_state(mechanism, seed)
    acceleration = np.random.default_rng(seed).uniform(-1, 1, mechanism.nu)
    theirs = Pinocchio(mechanism, model, q, u)
    M, required = theirs.mass_matrix(), theirs.inverse_dynamics(acceleration)
    assert error_of_matrix(ask("mass_matrix", q=q), M) < TOLERANCE
    assert error_of_force(ask("bias", q=q, u=u), theirs.bias(), M) < TOLERANCE
    tau = ask("inverse_dynamics", q=q, u=u, acceleration=acceleration)
    assert error_of_force(tau, required, M) < TOLERANCE
    assert relative_error(ask("center_of_mass", q=q), theirs.center_of_mass()) < TOLERANCE
    assert relative_error(ask("momentum", q=q, u=u), theirs.momentum()) < TOLERANCE
    back = ask("forward_dynamics", q=q, u=u, tau=required)
    assert relative_error(back, acceleration) < 1e-8
    for frame in mechanism.frames:
        J = theirs.jacobian(model.getFrameId(frame.name, kind_of_frame))
        assert np.abs(ask("jacobian", frame.name, q=q) - J).max() < TOLERANCE


def check_tree(tree: Tree, seed: int, plain: bool) -> None:
    mechanism = mechanism_of(tree, Numbers(seed, plain))
    assert_like_pinocchio(mechanism, pinocchio_model(mechanism), pin.FrameType.OP_FRAME, seed)


def urdf_of(tree: Tree, numbers: Numbers) -> str:
    """The tree as URDF text below the root link `base`."""
    robot = Element("robot", name="tree")
    _link(robot, "base", numbers)
    for number, (parent, kind) in enumerate(tree):
        _link(robot, f"link_{number}", numbers)
        joint = SubElement(robot, "joint", name=f"joint_{number}", type=kind)
        SubElement(joint, "parent", link="base" if parent == WORLD else f"link_{parent}")
        SubElement(joint, "child", link=f"link_{number}")
        SubElement(joint, "axis", xyz=_text(numbers.axis()))
        SubElement(joint, "limit", lower="-4", upper="4", effort="1", velocity="1")
        _origin(joint, numbers)
    return tostring(robot, encoding="unicode")


def _link(robot: Element, name: str, numbers: Numbers) -> None:
    matter = numbers.inertia()
    inertial = SubElement(SubElement(robot, "link", name=name), "inertial")
    _origin(inertial, numbers)
    SubElement(inertial, "mass", value=repr(float(matter.mass)))
    places = {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }
    SubElement(
        inertial, "inertia", {key: repr(float(matter.about_com[at])) for key, at in places.items()}
    )


def _origin(element: Element, numbers: Numbers) -> None:
    angles = Rotation.from_matrix(numbers.rotation()).as_euler("xyz")
    SubElement(element, "origin", xyz=_text(numbers.place()), rpy=_text(angles))


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)


def check_urdf(tree: Tree, seed: int, plain: bool, floating: bool) -> None:
    moving = floating or any(kind != "fixed" for _, kind in tree)
    tree = tree if moving else [(parent, "revolute") for parent, _ in tree]
    text = urdf_of(tree, Numbers(seed, plain))
    mechanism = check(read_urdf(text, floating=floating))
    model = (
        pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        if floating
        else pin.buildModelFromXML(text)
    )
    kind = pin.FrameType.BODY
    if floating:
        assert_like_pinocchio(mechanism, model, kind, seed)
    else:  # links welded to the world count for Pinocchio's center of mass, not for ours
        q, u = random_state(mechanism, seed)
        theirs, ask = Pinocchio(mechanism, model, q, u), Interpreted(mechanism)
        M = theirs.mass_matrix()
        assert error_of_matrix(ask("mass_matrix", q=q), M) < TOLERANCE
        assert error_of_force(ask("bias", q=q, u=u), theirs.bias(), M) < TOLERANCE


TREES = shapes(["free", "ball", "hinge", "slide"], ["ball", "hinge", "slide"])
LINKS = shapes(*[["revolute", "continuous", "prismatic", "fixed"]] * 2)
SEEDS = st.integers(0, 2**31)


@QUICK
@given(TREES, SEEDS, st.booleans())
def test_trees(tree: Tree, seed: int, plain: bool) -> None:
    check_tree(tree, seed, plain)


@QUICK
@given(LINKS, SEEDS, st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning", "ignore:Gimbal lock")
def test_urdf_trees(tree: Tree, seed: int, plain: bool, floating: bool) -> None:
    check_urdf(tree, seed, plain, floating)


@pytest.mark.slow
@THOROUGH
@given(TREES, SEEDS, st.booleans())
def test_many_trees(tree: Tree, seed: int, plain: bool) -> None:
    check_tree(tree, seed, plain)


@pytest.mark.slow
@THOROUGH
@given(LINKS, SEEDS, st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning", "ignore:Gimbal lock")
def test_many_urdf_trees(tree: Tree, seed: int, plain: bool, floating: bool) -> None:
    check_urdf(tree, seed, plain, floating)
