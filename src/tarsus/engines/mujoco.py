"""MuJoCo as an engine, at the named settings of `mujoco_runs.settings`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.engines.base import (
    Array,
    Engine,
    Feedback,
    Motion,
    NotModeled,
    Session,
    Start,
    Torques,
)
from tarsus.model.mechanism import Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.self_collision import create_pairs
from tarsus.model.solids import Cuboid
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.contacts import ground_contacts
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import (
    DEFAULT,
    ENGINE,
    MIN_FRICTION,
    NAMED,
    MujocoSettings,
    describe_sets,
    find_settings,
    row_label,
)
from tarsus.mujoco_runs.worlds import Hook, MujocoWorlds

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


def format_settings(names: Iterable[str]) -> list[str]:
    """Format the settings of these names as lines."""
    return [
        *describe_sets({row_label(name): find_settings(name) for name in names}),
        f"{NAME}: {SCENES}",
    ]


class MujocoEngine(Engine):
    """MuJoCo's soft contact on the same bodies and ground.

    Parameters
    ----------
    name
        Key of `NAMED`, shown in the column of steppers.
    settings
        Other settings, shown by that name.
    """

    law = NAME
    not_modeled = NOT_MODELED
    impulsive = False
    parameters = frozenset({"mu"})
    variants: ClassVar[Mapping[str, str]] = {
        name: settings.description() for name, settings in NAMED.items()
    }

    def __init__(self, name: str = DEFAULT, settings: MujocoSettings | None = None) -> None:
        self.stepper, self.settings = name, settings or find_settings(name)

    def step(self, dt: float) -> float:
        return min(dt, STEP)

    def begin(self, start: Start, dt: float) -> MujocoSession:
        if start.controller is not None:
            raise NotModeled("the robot has a compiled servo, which MuJoCo cannot run", "servo")
        if create_pairs(start.body, within_robot=False) and not start.motion_only:
            raise NotModeled(
                "contact between objects is compared separately, on one MJCF file", "objects"
            )
        if start.bounce:
            raise NotModeled(
                "its joint limits have a damping ratio, not a coefficient of restitution", "bounce"
            )
        if np.any(start.heading):
            raise NotModeled("its floor is inclined along x alone", "heading")
        models = [self._model(start, k, dt) for k in range(start.worlds)]
        worlds = MujocoWorlds(models, np.asarray(start.q), np.asarray(start.u))
        return MujocoSession(worlds, dt, start)

    def _model(self, start: Start, k: int, dt: float) -> Any:
        """Compile MuJoCo's model of world k."""
        mu = float(np.asarray(start.parameters["mu"])[k]) if "mu" in start.parameters else 0.8
        model = mujoco().MjModel.from_xml_string(_write_mjcf(start, dt, mu, k))
        self.settings.apply(model)
        return model


class MujocoSession(Session):
    """Worlds in MuJoCo; torques are the control signals of their models.

    Parameters
    ----------
    stepped
        Models and states of the worlds.
    dt
        Length of a step, in s.
    start
        Where they started, and how they are pushed; by default not at all.
    """

    def __init__(self, stepped: MujocoWorlds, dt: float, start: Start | None = None) -> None:
        self.dt, self.worlds = dt, len(stepped.data)
        self.stepped, self._start = stepped, start
        self._feedback: Feedback | None = None

    def state(self) -> tuple[Array, Array]:
        return self.stepped.state()

    def drive(self, torques: Torques) -> None:
        self._feedback = torques if callable(torques) else None
        if not callable(torques):
            self._apply_torques(torques)

    def advance(self, steps: int) -> None:
        self.stepped.advance(steps, self._before)

    def record(self, steps: int) -> Motion:
        start, data = self._start, self.stepped.data
        candidates = start.body.candidates if start is not None else ()
        contacts = len(candidates)
        measured = start is not None and not start.motion_only
        q, u = (np.empty((steps, *part.shape)) for part in self.state())
        impulse, joints = np.zeros((steps, self.worlds, contacts, 3)), np.zeros_like(u)
        first = self.stepped.steps + 1
        # MuJoCo orders geoms by body
        names = self.stepped.models[0].geom if measured else None
        numbers = {names(c.name).id: j for j, c in enumerate(candidates)} if names else {}

        def copy_state() -> None:
            i = self.stepped.steps - first
            for k, (model, data_of_world) in enumerate(zip(self.stepped.models, data, strict=True)):
                q[i, k], u[i, k] = data_of_world.qpos, data_of_world.qvel
                joints[i, k] = self.dt * _joint_forces(model, data_of_world)
                for contact in ground_contacts(model, data_of_world) if measured else ():
                    impulse[i, k, numbers[contact.geom]] += self.dt * contact.force

        self.stepped.advance(steps, self._before, copy_state)
        return Motion(q, u, impulse, np.ones(q.shape[:2], bool), self.dt, joints)

    def put(
        self, q: Array | None = None, u: Array | None = None, where: ArrayLike | None = None
    ) -> None:
        """Write coordinates (worlds, nq) or velocities (worlds, nu) of all or masked worlds."""
        self.stepped.put(q, u, where)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """Whether each geom but the floor touches something (worlds, geoms)."""
        touching = np.zeros((self.worlds, self.stepped.models[0].ngeom - 1), bool)
        for row, data in zip(touching, self.stepped.data, strict=True):
            row[data.contact.geom.max(axis=1) - 1] = True
        return touching

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Always true, shape (worlds,), because MuJoCo does not report convergence."""
        return np.ones(self.worlds, bool)

    @property
    def _before(self) -> Hook | None:
        """Write forces into the worlds' data before every step."""
        feedback, start = self._feedback, self._start
        pushed = start is not None and start.pushed

        def before() -> None:
            if feedback is not None:
                self._apply_torques(feedback(self.stepped.steps * self.dt, *self.state()))
            if start is not None and pushed:
                force = start.push_at((self.stepped.steps + 0.5) * self.dt)
                for row, data in zip(force, self.stepped.data, strict=True):
                    data.xfrc_applied[1, :3] = row

        return before if feedback is not None or pushed else None

    def _apply_torques(self, torques: ArrayLike) -> None:
        """Write torques (motors,) or (worlds, motors)."""
        count = len(self.stepped.data[0].ctrl)
        rows = np.broadcast_to(np.asarray(torques, float), (self.worlds, count))
        for row, data in zip(rows, self.stepped.data, strict=True):
            data.ctrl[:] = row


def _joint_forces(model: Any, data: Any) -> Any:
    """Force (nv,) of joint limits and dry friction at the start of the last step, N m or N."""
    mj = mujoco()
    kinds = (mj.mjtConstraint.mjCNSTR_FRICTION_DOF, mj.mjtConstraint.mjCNSTR_LIMIT_JOINT)
    rows = np.where(np.isin(data.efc_type, kinds), data.efc_force, 0.0)
    force = np.zeros(model.nv)
    if len(rows):
        mj.mj_mulJacTVec(model, data, force, rows)
    return force


def _write_mjcf(start: Start, dt: float, mu: float, world: int) -> str:
    """Write the MJCF of the body on an inclined floor."""
    body, slope = start.body, float(np.asarray(start.slope)[world])
    root = ElementTree.fromstring(to_mjcf(body, dt=dt, friction=max(mu, MIN_FRICTION)))
    floor = root.find("worldbody/geom[@name='floor']")
    assert floor is not None
    floor.set("quat", f"{np.cos(slope / 2):.17g} 0 {-np.sin(slope / 2):.17g} 0")
    if start.motion_only:
        _add_solids(root, body)
    return ElementTree.tostring(root, encoding="unicode")


def _add_solids(root: ElementTree.Element, body: Mechanism) -> None:
    """Add the shapes that can touch other bodies but not the floor."""
    for solid in body.solids:
        element = root.find(f".//body[@name='{body.bodies[solid.body].name}']")
        assert element is not None
        row = {"name": f"solid_{solid.name}", "contype": "2", "conaffinity": "2"}
        if isinstance(solid, Cuboid):
            row |= {
                "type": "box",
                "pos": _format_numbers(solid.middle),
                "size": _format_numbers(solid.half),
            }
            row["quat"] = _format_numbers(quaternion_from_rotation(solid.rotation))
        elif solid.ball:
            row |= {
                "type": "sphere",
                "pos": _format_numbers(solid.middle),
                "size": _format_numbers([solid.radius]),
            }
        else:
            ends = np.concatenate([solid.middle - solid.half, solid.middle + solid.half])
            row |= {
                "type": "capsule",
                "fromto": _format_numbers(ends),
                "size": _format_numbers([solid.radius]),
            }
        ElementTree.SubElement(element, "geom", row)


def _format_numbers(values: Any) -> str:
    return " ".join(f"{float(value):.17g}" for value in values)
