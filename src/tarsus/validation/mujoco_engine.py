"""MuJoCo as an engine, at the named settings of `mujoco_runs.settings`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from typing import Any

import numpy as np

from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.model.mechanism import Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.self_collision import pairs
from tarsus.model.solids import Cuboid
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.contacts import ground_contacts
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import (
    DEFAULT,
    ENGINE,
    LEAST_FRICTION,
    MujocoSettings,
    label,
    named,
    printed,
)
from tarsus.validation.engine import Engine, Motion, NotModeled, Start

NAME = ENGINE
STEP = 0.002  # s, MuJoCo's default
SCENES = (
    f"Newton solver with its default tolerance, steps of at most {1e3 * STEP:g} ms, corners as"
    " spheres of radius 1e-9 m"
)
# its contacts are those of `soft_convex`, so both are held to one standard; its joints are as soft
NOT_MODELED = {**SoftConvex.not_modeled} | {
    "hard joints": "stops, loops and dry friction of joints are soft constraints, as contacts are"
}


def shown(names: Iterable[str]) -> list[str]:
    """Return the lines that state the settings of these names."""
    return [*printed({label(name): named(name) for name in names}), f"{NAME}: {SCENES}"]


class MuJoCo(Engine):
    """MuJoCo's soft contact on the same bodies and ground.

    name: key of `NAMED`, in the column of steppers; settings: others, shown by that name
    """

    law = NAME
    not_modeled = NOT_MODELED
    impulsive = False
    parameters = frozenset({"mu"})
    peer = True

    def __init__(self, name: str = DEFAULT, settings: MujocoSettings | None = None) -> None:
        self.stepper, self.settings = name, settings or named(name)

    def step(self, dt: float) -> float:
        return min(dt, STEP)

    def motion(self, start: Start, dt: float, steps: int, skip: int) -> Motion:
        if start.controller is not None:
            raise NotModeled("the robot has a compiled servo, which MuJoCo cannot run", "servo")
        if pairs(start.body, own=False) and not start.motion_alone:
            raise NotModeled(
                "contact between objects is compared separately, on one MJCF file", "objects"
            )
        if start.bounce:
            raise NotModeled(
                "its joint limits have a damping ratio, not a coefficient of restitution", "bounce"
            )
        worlds = [self._world(start, k, dt, (steps, skip)) for k in range(start.worlds)]
        q, u, impulse, joints = (np.stack(parts, 1) for parts in zip(*worlds, strict=True))
        return Motion(q, u, impulse, np.ones(q.shape[:2], bool), dt, joints)

    def _world(self, start: Start, k: int, dt: float, count: tuple[int, int]) -> tuple[Any, ...]:
        mj = mujoco()
        mu = float(np.asarray(start.parameters["mu"])[k]) if "mu" in start.parameters else 0.8
        model = mj.MjModel.from_xml_string(_mjcf(start, dt, mu, k))
        self.settings.apply(model)
        data = mj.MjData(model)
        data.qpos[:], data.qvel[:] = np.asarray(start.q)[k], np.asarray(start.u)[k]
        q, u = np.empty((count[0], model.nq)), np.empty((count[0], model.nv))
        impulse = np.zeros((count[0], len(start.body.candidates), 3))
        joints = np.zeros_like(u)
        for i in range(-count[1], count[0]):
            if start.pushed:
                data.xfrc_applied[1, :3] = start.push_at((i + count[1] + 0.5) * dt)[k]
            mj.mj_step(model, data)
            if i < 0:
                continue
            q[i], u[i] = data.qpos, data.qvel
            joints[i] = dt * _in_joints(mj, data)
            for contact in () if start.motion_alone else ground_contacts(model, data):
                impulse[i, contact.geom - 1] += dt * contact.force  # the floor is geom 0
        return q, u, impulse, joints


def _in_joints(mj: Any, data: Any) -> Any:
    """Force (nv,) of limits and dry friction of joints at the last step's start, N m or N."""
    kinds = (mj.mjtConstraint.mjCNSTR_FRICTION_DOF, mj.mjtConstraint.mjCNSTR_LIMIT_JOINT)
    own = np.where(np.isin(data.efc_type, kinds), data.efc_force, 0.0)
    found = np.zeros(len(data.qvel))
    mj.mj_mulJacTVec(data.model, data, found, own) if len(own) else None
    return found


def _mjcf(start: Start, dt: float, mu: float, world: int) -> str:
    """The body on an inclined floor."""
    body, slope = start.body, float(np.asarray(start.slope)[world])
    root = ElementTree.fromstring(to_mjcf(body, dt=dt, friction=max(mu, LEAST_FRICTION)))
    floor = root.find("worldbody/geom[@name='floor']")
    assert floor is not None
    floor.set("quat", f"{np.cos(slope / 2):.17g} 0 {-np.sin(slope / 2):.17g} 0")
    if start.motion_alone:
        _add_solids(root, body)
    return ElementTree.tostring(root, encoding="unicode")


def _add_solids(root: ElementTree.Element, body: Mechanism) -> None:
    """What touches other bodies, and not the floor."""
    for solid in body.solids:
        place = root.find(f".//body[@name='{body.bodies[solid.body].name}']")
        assert place is not None
        row = {"name": f"solid_{solid.name}", "contype": "2", "conaffinity": "2"}
        if isinstance(solid, Cuboid):
            row |= {"type": "box", "pos": _text(solid.middle), "size": _text(solid.half)}
            row["quat"] = _text(quaternion_from_rotation(solid.rotation))
        elif solid.ball:
            row |= {"type": "sphere", "pos": _text(solid.middle), "size": _text([solid.radius])}
        else:
            ends = np.concatenate([solid.middle - solid.half, solid.middle + solid.half])
            row |= {"type": "capsule", "fromto": _text(ends), "size": _text([solid.radius])}
        ElementTree.SubElement(place, "geom", row)


def _text(values: Any) -> str:
    return " ".join(f"{float(value):.17g}" for value in values)
