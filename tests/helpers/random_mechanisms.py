"""Mechanisms with random joints, axes and inertias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.model.check import check
from tarsus.model.mechanism import Body, Frame, Inertia, Joint, Mechanism

Tree = Sequence[tuple[int, Any]]  # parent and kind of joint of each body, depth-first


class Numbers:
    """Random inertias and poses; if `plain`, along the axes, as in most robots."""

    def __init__(self, seed: int, plain: bool) -> None:
        self.random, self.plain = np.random.default_rng(seed), plain

    def axis(self) -> np.ndarray:
        if self.plain:
            return self.random.choice([-1.0, 1.0]) * np.eye(3)[self.random.integers(3)]
        axis = self.random.normal(size=3)
        return axis / np.linalg.norm(axis)

    def place(self) -> np.ndarray:
        place = self.random.uniform(-0.5, 0.5, 3)
        return place * self.random.integers(0, 2, 3) if self.plain else place

    def rotation(self) -> np.ndarray:
        if self.plain:
            return Rotation.from_euler(
                "xyz", np.pi / 2 * self.random.integers(-1, 3, 3)
            ).as_matrix()
        return Rotation.random(rng=self.random).as_matrix()

    def inertia(self) -> Inertia:
        """Inertia of ten random points."""
        points = self.random.uniform(-0.3, 0.3, (10, 3))
        com = points.mean(0)
        arms = points - com
        mass = self.random.uniform(0.1, 5.0)
        about = mass / 10 * ((arms**2).sum() * np.eye(3) - arms.T @ arms)
        return Inertia(mass, com, (about + about.T) / 2)


def mechanism_of(tree: Tree, numbers: Numbers) -> Mechanism:
    """Build a mechanism with a frame on every body and armature on hinges and slides."""
    bodies, frames = [], []
    for number, (parent, kind) in enumerate(tree):
        rotor = numbers.random.uniform(0, 0.5) if kind in ("hinge", "slide") else 0.0
        joint = Joint(f"joint_{number}", kind, axis=numbers.axis(), armature=rotor)
        place = (
            (np.zeros(3), np.eye(3)) if kind == "free" else (numbers.place(), numbers.rotation())
        )
        bodies.append(Body(f"body_{number}", parent, joint, numbers.inertia(), *place))
        frames.append(Frame(f"frame_{number}", number, numbers.place(), numbers.rotation()))
    return check(Mechanism("tree", tuple(bodies), frames=tuple(frames)))
