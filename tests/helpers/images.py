"""Random state of an environment's robot, and its mirror image."""

from __future__ import annotations

from typing import Any

import numpy as np

import tarsus

Moment = dict[str, np.ndarray]


def state_and_image(worlds: tarsus.Environment, random: np.random.Generator) -> list[Moment]:
    """Return both as q, u, action and before; the base is anywhere, joints are near the
    standing posture.
    """
    assert worlds.mirror is not None
    of_acted: Any = worlds.mirror[1]
    q, u = worlds.start, random.normal(size=worlds.robot.nu)
    q[:3] += random.normal(size=3)
    q[3:7] = random.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    stand = np.asarray(worlds.work.stand)[7:]
    q[7:] = stand + 0.2 * random.normal(size=worlds.action_size)
    action = random.normal(size=worlds.action_size)
    q2, u2 = q.copy(), u.copy()
    q2[1], q2[[4, 6]] = -q[1], -q[[4, 6]]
    q2[7:] = stand + of_acted(q[7:] - stand)
    u2[1], u2[[3, 5]], u2[6:] = -u[1], -u[[3, 5]], of_acted(u[6:])
    states = ((q, u, action), (q2, u2, of_acted(action)))
    return [dict(q=q, u=u, action=acted, before=acted) for q, u, acted in states]
