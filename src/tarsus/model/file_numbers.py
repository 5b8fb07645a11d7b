"""Contact numbers of the file of each mechanism in a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class FileNumbers:
    """Contact numbers of one mechanism in a world.

    Attributes
    ----------
    name
        Name of the mechanism.
    bodies
        Names of its bodies. Their friction factors are relative to mu of `material`, or to the
        law's default if that has no mu.
    material
        The same as in `Mechanism`.
    """

    name: str
    bodies: tuple[str, ...]
    material: Mapping[str, float] = field(default_factory=dict)

    def rename(self, ending: str) -> FileNumbers:
        """Append an ending to all names."""
        bodies = tuple(name + ending for name in self.bodies)
        return FileNumbers(self.name + ending, bodies, self.material)
