"""What elements of a URDF or SDF file are not read, by name."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence

from tarsus.model.parts import Report


def report_unread(
    owners: Iterable[ET.Element], read: Mapping[str, Sequence[str]], report: Report
) -> None:
    """Say which elements inside the owners are left out, and how many of each.

    read: by an owner's tag the tags that are read, or that change no motion
    """
    counts: dict[str, int] = {}
    for owner in owners:
        for child in owner:
            if isinstance(child.tag, str) and child.tag not in read[owner.tag]:
                tag = f"<{child.tag.rpartition('}')[2]}>"
                counts[tag] = counts.get(tag, 0) + 1
    if counts:
        told = ", ".join(f"{tag} ({count})" for tag, count in sorted(counts.items()))
        report.leave(f"Not read: {told}.")
