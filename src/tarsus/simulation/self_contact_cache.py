"""Cache on disk which solids of a robot can collide, which takes seconds for some robots."""

from __future__ import annotations

from functools import lru_cache

from tarsus.model.mechanism import Mechanism
from tarsus.morphology.self_contacts import SelfContacts, classify_pairs, group_pairs, self_contacts
from tarsus.program.run import cache
from tarsus.simulation.program_cache import cache_key


@lru_cache(maxsize=8)
def cached_self_contacts(mechanism: Mechanism, within_robot: bool, /) -> SelfContacts:
    """Read `self_contacts` from the cache, or compute and cache them."""
    key = cache_key((mechanism, within_robot)) if within_robot else None
    if key is None:
        return self_contacts(mechanism, within_robot)
    content = cache.read(f"{key}.pairs")
    if content is None:
        content = classify_pairs(mechanism, within_robot).encode()
        cache.write(f"{key}.pairs", content)
    return group_pairs(mechanism, within_robot, content.decode())
