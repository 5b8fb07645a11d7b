"""What the file of each mechanism of a world says of contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class FileNumbers:
    """Of one mechanism of a world, its own numbers for contacts.

    bodies: names of its bodies, whose factors on friction are relative to `material`'s mu, or to
        the law's default where that has none
    material: of `Mechanism`
    """

    name: str
    bodies: tuple[str, ...]
    material: Mapping[str, float] = field(default_factory=dict)

    def renamed(self, ending: str) -> FileNumbers:
        """The same with another ending of all names."""
        bodies = tuple(name + ending for name in self.bodies)
        return FileNumbers(self.name + ending, bodies, self.material)
