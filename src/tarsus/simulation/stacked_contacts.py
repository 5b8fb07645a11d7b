"""Find the stable time step of contacts that touch simultaneously, on stacked bodies or one body.

A contact is a spring c and a damper d along each of its directions, with the force taken at the
start or the middle of a step. The motion reverses in every step if G (C dt^2 / 4 + D dt / 2) has
the eigenvalue 1, with G = J M^-1 J^T of all contacts and diagonal C and D: that dt is the limit.
For a single contact it is the limit in `contact/stability.py`. Corners that share a body have a
larger eigenvalue than each of them alone, by up to their number, and if two bodies touch, the
lighter one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray
from scipy.optimize import nnls

from tarsus.contact.base import Law
from tarsus.dynamics import effective_mass, rnea, tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.poses import poses
from tarsus.model.mechanism import WORLD, Candidate, Mechanism
from tarsus.model.solids import Pair
from tarsus.morphology.distances import solid_distance
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.stepping.assemble import contact_kinematics
from tarsus.stepping.base import Scene

Array = NDArray[np.float64]
TOUCH_DISTANCE = 2e-3  # m; closer shapes will touch soon
REGULARIZATION = 1e-4  # shares a load among redundant contacts
LOAD_RATIO = 1.25  # loads are rounded up to powers of this
MIN_LOAD_SHARE = 1e-3  # of the largest load; smaller loads are raised to it
PROBE_MASS = 1e-2  # kg; second mass at which the law's limit is evaluated
MIN_STEP, MAX_STEP, BISECTIONS = 1e-8, 10.0, 50  # s, of the search for the limit
CACHE_SIZE = 16  # scenes and coordinates


@dataclass(frozen=True)
class TouchingContacts:
    """The longest stable step of contacts that touch simultaneously.

    Attributes
    ----------
    step
        Longest stable step, in s.
    count
        Number of contacts.
    shapes
        Names of the two shapes whose contact is unstable first; the second is empty for the ground.
    bounds
        Parameters of the law that limit the step.
    linear
        Whether the law's stiffness and damping are the same under every load.
    """

    step: float
    count: int
    shapes: tuple[str, str]
    bounds: frozenset[str]
    linear: bool
    _G: Array
    _c: Array
    _d: Array

    def softening_factor(self, dt: float) -> float:
        """Compute the factor by which a linear law is too stiff for dt, in s."""
        return _growth(self._G, self._c, self._d, dt)[0]


def find_touching_contacts(scene: Scene, q: Array) -> TouchingContacts | None:
    """Find the contacts that touch at coordinates q (nq,).

    Returns None if nothing touches, if the law has no limit that depends on masses, or if the world
    is a single robot.
    """
    if not _may_stack(scene.mechanism, scene.pairs):
        return None
    return _touching_contacts(scene, np.asarray(q, float).tobytes())


def _may_stack(mechanism: Mechanism, pairs: tuple[Pair, ...]) -> bool:
    """Return whether bodies of different trees may touch, or all joints are free."""
    roots = [tree.support_path(mechanism, i)[-1] for i in range(len(mechanism.bodies))]
    return has_only_free_joints(mechanism) or any(
        roots[p.first.body] != roots[p.second.body] for p in pairs
    )


def has_only_free_joints(mechanism: Mechanism) -> bool:
    """Return whether no body has a joint other than a free one."""
    return all(body.joint.kind == "free" for body in mechanism.bodies)


@lru_cache(maxsize=CACHE_SIZE)
def _touching_contacts(scene: Scene, q: bytes) -> TouchingContacts | None:
    pose = np.frombuffer(q)
    touching, J, share = _find_touching(scene, pose)
    if not touching:
        return None
    # mass matrix and contact loads
    kin = kinematics(scene.mechanism, SX(pose), SX.zeros(scene.mechanism.nu))
    M, W = (np.array(DM(part)) for part in effective_mass.inertia_and_constraints(kin))
    G = J @ effective_mass.mobility(M, W) @ J.T
    weight = np.array(DM(rnea.bias(kin, rnea.body_inertias(scene.mechanism)))).ravel()
    loads = _loads(scene.mechanism, J[::3], weight)
    # stiffness and damping of the law at these loads
    levels = LOAD_RATIO ** np.ceil(np.log(loads) / np.log(LOAD_RATIO))
    known = {load: _stiffness_and_damping(scene.law, load) for load in {*levels, 2 * levels.max()}}
    c = np.repeat(share, 3) * np.concatenate([known[load][0] for load in levels])
    d = np.repeat(share, 3) * np.concatenate([known[load][1] for load in levels])
    if not (c + d).any():
        return None
    # bisect for the limit
    low, high = MIN_STEP, MAX_STEP
    for _ in range(BISECTIONS):
        dt = np.sqrt(low * high)
        low, high = (low, dt) if _growth(G, c, d, dt)[0] > 1 else (dt, high)
    mode = _growth(G, c, d, low)[1].reshape(-1, 3)
    worst = touching[int(np.square(mode).sum(1).argmax())]
    both = (worst.name, "")
    if isinstance(worst, Pair):
        both = (worst.first.name, worst.second.name)
    constants = [values[:2] for values in known.values()]
    linear = all(np.allclose(values, constants[0], rtol=1e-6) for values in constants)
    bounds = frozenset[str]().union(*(values[2] for values in known.values()))
    return TouchingContacts(float(low), len(touching), both, bounds, linear, G, c, d)


def _find_touching(scene: Scene, q: Array) -> tuple[list[Candidate | Pair], Array, Array]:
    """Find the touching contacts at q (nq,), Jacobian rows (3n, nu) and factors (n,).

    The factors scale the law's stiffness and damping.
    """
    placed, is_close = poses(scene.mechanism, q), dict[tuple[str, str], bool]()
    for pair in scene.pairs:
        both = pair.first.name, pair.second.name
        if both not in is_close:
            is_close[both] = bool(solid_distance(pair, placed)[0] < TOUCH_DISTANCE)
    meeting = [pair for pair in scene.pairs if is_close[pair.first.name, pair.second.name]]
    contacts: list[Candidate | Pair] = [*scene.candidates, *meeting]
    if not contacts:
        return [], np.zeros((0, scene.mechanism.nu)), np.zeros(0)
    b = Builder("together")
    kin = kinematics(scene.mechanism, b.parameter("q", len(q)), SX.zeros(scene.mechanism.nu))
    contact_kin = contact_kinematics(scene, kin, scene.terrain.symbols(b), contacts)
    gaps = ca.vertcat(*(touch.contact.gap for touch in contact_kin))
    share = ca.vertcat(*(touch.contact.stiffness for touch in contact_kin))
    rows = ca.vertcat(*(ca.horzcat(*row).T for touch in contact_kin for row in touch.rows))
    values = {f"terrain.{name}": value for name, value in scene.terrain.parameters().items()}
    reports = reference.run(b.program(gaps=gaps, rows=rows, share=share), values | {"q": q})
    touches_now = reports["gaps"][0] < TOUCH_DISTANCE
    every = reports["rows"][0].reshape(len(contacts), -1)[touches_now]
    touching = [one for one, touches in zip(contacts, touches_now, strict=True) if touches]
    return (
        touching,
        every.reshape(3 * len(touching), scene.mechanism.nu),
        reports["share"][0][touches_now],
    )


def _loads(mechanism: Mechanism, normals: Array, weight: Array) -> Array:
    """Compute the load on each contact at rest, shape (n,), in N.

    Parameters
    ----------
    mechanism
        The robot.
    normals
        Jacobian rows along the normals, shape (n, nu).
    weight
        Generalized gravity force, shape (nu,). Only that of free roots is carried by contacts;
        without free roots, that of all joints is.
    """
    free = [
        u_slice
        for body, u_slice in zip(mechanism.bodies, mechanism.u_slices, strict=True)
        if body.parent == WORLD and body.joint.kind == "free"
    ]
    columns = np.concatenate(
        [np.arange(u_slice.start, u_slice.stop) for u_slice in free or mechanism.u_slices]
    )
    directions, load = normals[:, columns].T, weight[columns]
    shared, _ = nnls(
        np.vstack([directions, REGULARIZATION * np.eye(len(normals))]),
        np.append(load, 0 * normals[:, 0]),
    )
    largest = max(float(shared.max()), 1e-9 * float(np.abs(weight).max()) + 1e-12)
    return np.maximum(shared, MIN_LOAD_SHARE * largest)


def _stiffness_and_damping(law: Law, load: float) -> tuple[Array, Array, frozenset[str]]:
    """Compute stiffness (3,), N/m, and damping (3,), N s/m, of a contact from the law's limits.

    They are along the normal and the tangents, for a contact that carries `load`, in N. The third
    value names the limits. A limit L at a mass m is that of a spring and damper, c L^2 + 2 d L = 4
    m, so that two masses determine both.
    """
    c, d, bounds = np.zeros(3), np.zeros(3), set[str]()
    heavy = law.largest_steps((1.0, 1.0), load)
    lighter = [law.largest_steps(masses, load) for masses in ((PROBE_MASS, 1.0), (1.0, PROBE_MASS))]
    for where, light in zip((slice(0, 1), slice(1, 3)), lighter, strict=True):
        for what, limit in heavy.items():
            if not light.get(what, np.inf) < limit * (1 - 1e-9):
                continue
            steps = np.array([limit, light[what]])
            solution = np.linalg.solve(
                np.stack([steps**2, 2 * steps], axis=1), [4.0, 4 * PROBE_MASS]
            )
            c[where], d[where] = np.maximum([c[where], d[where]], np.maximum(solution, 0)[:, None])
            bounds.add(what)
    return c, d, frozenset(bounds)


def _growth(G: Array, c: Array, d: Array, dt: float) -> tuple[float, Array]:
    """Compute the largest eigenvalue of G (C dt^2 / 4 + D dt / 2), and its eigenvector (3n,)."""
    root = np.sqrt(c * dt**2 / 4 + d * dt / 2)
    values, vectors = np.linalg.eigh(root[:, None] * G * root)
    return float(values[-1]), vectors[:, -1]
