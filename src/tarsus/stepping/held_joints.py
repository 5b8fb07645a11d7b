"""What holds joints within a step, as numbers of the step: at limits, and by dry friction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from casadi import SX


@dataclass(frozen=True, eq=False)
class HeldJoints:
    """What acts in joints beside motors within a step (`stepping/joints.py`): m of them, those of
    the tree first.

    places: entries of u of those in the tree
    weight (m,): how often its inertia is added to a joint's, so that it ends the step with its
        `velocity` (m,), rad/s or m/s; 0: it is free
    drag (m,): inertia that is added so, kg m^2 or kg
    friction (m,): impulse of dry friction on those that slide, N m s or N s
    limited (m,): 1 where a limit holds the joint, 0 where it slides, is free, or friction holds it
    rubbing: which of them have dry friction
    loops: directions (nu,) of those that close loops
    """

    places: list[int]
    weight: SX
    drag: SX
    velocity: SX
    friction: SX
    limited: SX
    rubbing: list[int]
    loops: list[list[SX]] = field(default_factory=list)

    @property
    def in_tree(self) -> HeldJoints | None:
        """Those in the tree alone; None if there are none."""
        n = len(self.places)
        if not n:
            return None
        names = "weight", "drag", "velocity", "friction", "limited"
        own = {name: getattr(self, name)[:n] for name in names}
        return replace(self, loops=[], **own)
