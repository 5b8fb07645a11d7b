"""Search for the joints that dry friction holds, compared with exhaustive search."""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from numpy.typing import NDArray

from tarsus.stepping.joint_friction import BrakedJoint, next_slide_signs
from tarsus.stepping.joint_states import JointState

Array = NDArray[np.float64]
JOINTS, PASSES = 5, 20


def search() -> ca.Function:
    """(modes (15,), impulses (5,), f (5,), M (5, 5), last (5,), u (5,), pass) -> directions and
    point.
    """
    names = ("modes", "impulse", "f", "M", "last", "u", "done")
    sizes = ((3 * JOINTS, 1), *[(JOINTS, 1)] * 2, (JOINTS, JOINTS), *[(JOINTS, 1)] * 2, (1, 1))
    given = {name: SX.sym(name, *size) for name, size in zip(names, sizes, strict=True)}
    joints = [
        BrakedJoint(
            JointState(SX(0), None, None, given["f"][k], k, SX(1e-10), SX(1e6)),
            given["modes"][3 * k : 3 * k + 3],
            given["impulse"][k],
        )
        for k in range(JOINTS)
    ]
    states = given["M"], given["last"], given["u"], given["done"]
    ways, point = next_slide_signs(joints, list(range(JOINTS)), *states)
    return ca.Function("search", list(given.values()), [ca.vertcat(*ways), point])


def solved(M: Array, free: Array, f: Array, ways: Array) -> tuple[Array, Array]:
    """End and impulses of friction for these slide directions; joints with direction 0 are at
    rest.
    """
    held = ways == 0
    u, push = np.zeros(JOINTS), M @ free - ways * f
    u[~held] = np.linalg.solve(M[np.ix_(~held, ~held)], push[~held])
    return u, np.where(held, M @ u - M @ free, -ways * f)


def energy(M: Array, free: Array, f: Array, u: Array) -> float:
    """Energy that Coulomb's law minimizes."""
    return float(0.5 * (u - free) @ M @ (u - free) + f @ np.abs(u))


@pytest.mark.parametrize("seed", range(40))
def test_the_descent_is_monotonic_and_ends_at_the_unique_minimum(seed: int) -> None:
    rng, step = np.random.default_rng(seed), search()
    root = rng.normal(size=(JOINTS, JOINTS))
    M = root @ np.diag(10.0 ** rng.uniform(-2, 2, JOINTS)) @ root.T + 1e-3 * np.eye(JOINTS)
    free, f = rng.normal(size=JOINTS), rng.uniform(0.01, 3.0, JOINTS)
    # by every guess
    ends = [solved(M, free, f, np.array(w, float))[0] for w in product((-1, 0, 1), repeat=JOINTS)]
    best = min(ends, key=lambda u: energy(M, free, f, u))
    # by the search, from joints at rest or turning
    point = rng.normal(size=JOINTS) * (seed % 2)
    ways, heights = np.sign(point), list[float]()
    for k in range(PASSES):
        u, impulse = solved(M, free, f, ways)
        modes = np.column_stack([np.zeros(JOINTS), ways, np.where(ways == 0, 1.0, 0.0)]).ravel()
        after, at = (np.array(x).ravel() for x in step(modes, impulse, f, M, point, u, k))
        heights.append(energy(M, free, f, at))
        if (after == ways).all():
            break
        ways, point = after, at
    assert k < PASSES - 1
    assert u == pytest.approx(best, abs=1e-9)
    assert np.all(np.diff(heights) <= 1e-9 * abs(heights[0]))
