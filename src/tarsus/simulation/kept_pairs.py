"""Which solids of a robot can meet, kept on disk: found once, it is read by the next process."""

from __future__ import annotations

from functools import lru_cache

from tarsus.model.mechanism import Mechanism
from tarsus.morphology.self_contacts import SelfContacts, fates, self_contacts, sorted_out
from tarsus.program.run import cache as disk
from tarsus.simulation.kept_programs import name_of


@lru_cache(maxsize=8)
def meeting(mechanism: Mechanism, own: bool, /) -> SelfContacts:
    """`self_contacts`, read if it was kept under the name of this robot and this code."""
    name = name_of((mechanism, own)) if own else None
    if name is None:
        return self_contacts(mechanism, own)
    content = disk.kept(f"{name}.pairs")
    if content is None:
        content = fates(mechanism, own).encode()
        disk.keep(f"{name}.pairs", content)
    return sorted_out(mechanism, own, content.decode())
