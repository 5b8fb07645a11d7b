"""Names of an MJCF file that nothing has: MuJoCo quotes them, but suggests no other."""

from __future__ import annotations

import re
from pathlib import Path

from tarsus.errors import UnknownName, unknown
from tarsus.model.mjcf_text import Document

QUOTED = re.compile(r"'([^']+)'")
DRIVES = ("motor", "position", "velocity", "intvelocity", "damper", "general", "cylinder", "muscle")
NAMED = {"freejoint": "joint", "spatial": "tendon", "fixed": "tendon", "default": "class"}
NAMED |= dict.fromkeys(DRIVES, "actuator")  # elements whose names are of another kind than theirs
KINDS = ("body", "geom", "joint", "site", "tendon", "mesh", "material", "hfield", "texture")
KINDS = (*KINDS, "camera", "actuator")
REFERS = {kind: kind for kind in KINDS}  # attributes that name something: of which kind
REFERS |= {f"{kind}{end}": kind for kind in KINDS for end in (1, 2)}
REFERS |= {"jointinparent": "joint", "target": "body", "slidersite": "site", "cranksite": "site"}
REFERS |= {"refsite": "site", "sidesite": "site", "class": "class", "childclass": "class"}
MEANT = {"objname": "objtype", "refname": "reftype"}  # their kind stands in another attribute
CLASS, WORLD = "class", "world"
MAX_SCENES, MAX_SCENE_BYTES = 100, 1 << 20  # files beside the robot's that may include it


def unknown_name(said: str, document: Document) -> UnknownName | None:
    """Return an error with near names for a name that MuJoCo's error `said` quotes, if an element
    of the file refers to it and nothing is called so; None if there is no such element.
    """
    quoted, known, wanted = set(QUOTED.findall(said)), dict[str, set[str]](), []
    for element in document.elements():
        # what has a name
        kind = NAMED.get(element.tag, element.tag)
        name = "class" if kind == CLASS else "name"
        if name in element.attrib:
            known.setdefault(kind, set()).add(element.attrib[name])
        # what refers to one of the names quoted
        for key, value in element.attrib.items():
            if value in quoted and key != name:
                refers = element.get(MEANT[key], "") if key in MEANT else REFERS.get(key, "")
                wanted.append((element.tag, key, refers, value))
    known["body"] = known.get("body", set()) | {WORLD}
    for tag, key, kind, value in wanted:
        if kind in (*KINDS, CLASS) and value not in known.get(kind, ()):
            what = "default class" if kind == CLASS else kind
            return unknown(what, value, known.get(kind, ())).within(f"{key} of <{tag}>")
    return None


def including_scenes(path: Path) -> list[str]:
    """Return the names of the files beside an MJCF file that include it.

    A robot may refer to names, such as the floor's, that only the scene around it has.
    """
    include = re.compile(rf"<include\s[^>]*file\s*=\s*[\"'](?:\./)?{re.escape(path.name)}[\"']")
    beside = (p for p in sorted(path.parent.glob("*.xml"))[:MAX_SCENES] if p != path)
    readable = (p for p in beside if p.is_file() and p.stat().st_size <= MAX_SCENE_BYTES)
    texts = ((p.name, p.read_text(encoding="utf-8", errors="replace")) for p in readable)
    return [name for name, text in texts if include.search(text)]
