"""Mutants of robot files and logs: valid files with one to three random changes."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable

import fuzz_samples
import numpy as np
import xarray as xr
from fuzz_samples import Sample, logs, robot_files, small_files

NUMBERS = (
    *("nan", "inf", "-inf", "1e39", "-1e39", "1e308", "1e-320", "1e20", "-1", "0", "-0.0", "1e9"),
    *("", " ", "abc", "0x10", "1,5", "١", "1e", "--1", "1 2", "0 0 0", "1 2 3 4 5 6 7", "9" * 400),
    *("1e15", "-1e-6", "1000000", "2147483648", "-2147483649", "18446744073709551616", "true"),
)
WORDS = (
    *("", " ", "x" * 100_000, "\u0000", "ü", "../escaped", "/abs/path", "a\nb", "world", "${x}"),
    *("package://x/y.stl", "/dev/zero", "t.obj", "robot", "free", "fixed", "floating", "mesh"),
    *("package:///t.obj", "package://t.obj", "package://etc/passwd", "file:///etc/passwd", "T.OBJ"),
    *("../../../../etc/passwd", "package://x/../../etc/passwd", "$(find x)/t.obj", "t%2eobj"),
    *fuzz_samples.SIDE_FILES,
)
ATTRIBUTE = re.compile(rb'([\w:]+)="([^"]*)"')
TEXT = re.compile(rb"<([\w:]+)[^<>/]*>([^<>]*[^<>\s][^<>]*)</")
URI = re.compile(rb"<(uri)>([^<>]*)</uri>")
ELEMENT = re.compile(rb"<[\w:]+[^<>]*/>|<([\w:]+)[^<>/]*>[^<>]*</\1>")
SPECIAL = {
    "mjcf": (
        '<option gravity="nan 0 0"/>',
        '<option gravity="0 0 -1e300"/>',
        '<worldbody><replicate count="3000000" offset="1 0 0"><body><freejoint/>'
        '<geom size="1"/></body></replicate></worldbody>',
        '<worldbody><replicate count="999"><replicate count="999"><geom size="1"/></replicate>'
        "</replicate></worldbody>",
        '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>',
        '<asset><hfield name="h" nrow="3" ncol="3" size="1e300 1 nan 1"/></asset>',
        '<asset><mesh name="zero" file="/dev/zero"/></asset>',
        '<asset><mesh name="fat" file="t.obj" scale="1e308 1e308 1e308"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="fat"/></body></worldbody>',
        *(f'<include file="{name}"/>' for name in fuzz_samples.SIDE_FILES),
        *(f'<asset><mesh name="s" file="{name}"/></asset>' for name in fuzz_samples.SIDE_FILES),
        *(f'<asset><model name="s" file="{name}"/></asset>' for name in fuzz_samples.SIDE_FILES),
        *(f'<asset><texture type="2d" file="{name}"/></asset>' for name in fuzz_samples.SIDE_FILES),
        *(
            f'<asset><hfield name="s" size="1 1 1 1" file="{name}"/><skin file="{name}"/></asset>'
            for name in fuzz_samples.SIDE_FILES
        ),
        '<asset><model name="s" file="mutant.xml"/></asset>',
        '<include file="mutant.xml"/>',
        '<compiler meshdir="/etc" texturedir=".." strippath="true"/>',
        '<!-- <x a="--><asset><mesh file="pipe.obj"/></asset>',
        '<actuator><orientation name="o" joint="hip"/></actuator>',
        '<worldbody><body name="o"><joint name="o" type="ball"/><geom size="1"/></body></worldbody>'
        '<actuator><orientation name="o" joint="o" kp="1"/></actuator>',
        '<include file="self.xml"/>',
        '<include file="/dev/zero"/>',
        '<size memory="900G"/>',
        '<size njmax="2000000000" nconmax="2000000000"/>',
        '<worldbody><flexcomp name="f" type="grid" count="2000 2000 200" spacing=".1 .1 .1"/>'
        "</worldbody>",
        '<worldbody><composite type="cable" count="9000000 1 1" size="1"><geom size=".1"/>'
        "</composite></worldbody>",
        '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>',
        '<keyframe><key qpos="nan"/></keyframe>',
        '<custom><numeric name="n" size="2000000000" data="1"/></custom>',
        '<asset><texture name="t" type="2d" builtin="flat" width="90000" height="90000"/></asset>',
        '<worldbody><body quat="0 0 0 0"><freejoint/><geom size="1"/></body></worldbody>',
        '<contact><pair geom1="a" geom2="b"/></contact>',
        "<worldbody>" + "<body>" * 3000 + "</body>" * 3000 + "</worldbody>",
    ),
    "urdf": (
        '<link name="x"><inertial><mass value="1e39"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        '</link><joint name="jx" type="fixed"><parent link="base"/><child link="x"/></joint>',
        '<link name="m"><collision><geometry><mesh filename="t.obj" scale="1e308 1e308 1e308"/>'
        '</geometry></collision></link><joint name="jm" type="fixed"><parent link="base"/>'
        '<child link="m"/></joint>',
        '<link name="m"><collision><geometry><mesh filename="/dev/zero"/></geometry></collision>'
        "</link>",
        *(
            '<link name="m"><collision><geometry>'
            f'<mesh filename="{name}"/></geometry></collision></link>'
            '<joint name="jm" type="fixed"><parent link="base"/><child link="m"/></joint>'
            for name in fuzz_samples.SIDE_FILES
        ),
        '<xacro:include filename="pipe.xml"/>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "pipe.xml">]>',
        "<link>" * 20_000 + "</link>" * 20_000,
        "".join(f'<link name="l{k}"/>' for k in range(20_000)),
    ),
    "sdf": (
        '<model name="inner"><link name="x"/></model>',
        "<include><uri>/dev/zero</uri></include>",
        *(f"<include><uri>{name}</uri></include>" for name in fuzz_samples.SIDE_FILES),
        *(
            '<link name="m"><collision name="c"><geometry>'
            f"<mesh><uri>{name}</uri></mesh></geometry></collision></link>"
            for name in fuzz_samples.SIDE_FILES
        ),
        "".join(f'<frame name="f{k}"><pose relative_to="f{k + 1}"/></frame>' for k in range(2000)),
        '<frame name="a"><pose relative_to="b"/></frame><frame name="b"><pose relative_to="a"/>'
        "</frame>",
        "".join(f'<link name="l{k}"/>' for k in range(20_000)),
        '<joint name="u" type="universal"><parent>base</parent><child>rod</child></joint>',
        '<joint name="w" type="ball"><parent>world</parent><child>rod</child></joint>',
    ),
}
ENCODINGS = ("latin-1", "utf-16", "utf-8-sig", "ascii", "klingon", "utf-7", "big5", "cp037", "hex")
BOMB = (
    b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9))
    + b"]>"
)


def create_mutator(kind: str, seed: int) -> Callable[[], Sample]:
    """Return a function that creates the next mutant of a kind: `robots`, `small` or `logs`."""
    rng, made = random.Random(seed), {"robots": robot_files, "small": small_files, "logs": logs}
    samples = made[kind]()

    def make() -> Sample:
        sample = rng.choice(samples)
        change = change_log if kind == "logs" else change_robot
        data = sample.data
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            data = change(sample.kind, data, rng)
        return Sample(sample.kind, data, sample.folder)

    return make


def change_robot(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Change one part of a robot file."""
    if rng.random() < 0.07:
        return insert_special(kind, data, rng)
    others = (
        change_word,
        change_path,
        change_path,
        add_namespace,
        remove_attribute,
        *ELEMENTS,
        *BYTES,
    )
    change = rng.choice((*(change_number,) * 6, *others))
    return change(data, rng)


def change_number(data: bytes, rng: random.Random) -> bytes:
    """Replace one number of an attribute or of an element's text."""
    hits = [m for m in _find_values(data) if re.search(rb"\d", m[2])]
    return _replace_number(data, rng.choice(hits), rng) if hits else data


def _find_values(data: bytes) -> list[re.Match[bytes]]:
    """Find all attributes, and all elements with text."""
    return [*ATTRIBUTE.finditer(data), *TEXT.finditer(data)]


def _replace_number(data: bytes, hit: re.Match[bytes], rng: random.Random) -> bytes:
    words = hit[2].split() or [b""]
    words[rng.randrange(len(words))] = rng.choice(NUMBERS).encode()
    if rng.random() < 0.1:
        words = words * rng.choice((0, 2, 1000))
    return data[: hit.start(2)] + b" ".join(words) + data[hit.end(2) :]


def change_word(data: bytes, rng: random.Random) -> bytes:
    """Replace one value by a word or by another value."""
    hits = _find_values(data)
    if not hits:
        return data
    hit, other = rng.choice(hits), rng.choice(hits)
    value = other[2] if rng.random() < 0.5 else rng.choice(WORDS).encode()
    return data[: hit.start(2)] + value + data[hit.end(2) :]


def change_path(data: bytes, rng: random.Random) -> bytes:
    """Replace a file name by that of a pipe, of a file outside, or of a file that names itself."""
    hits = [m for m in ATTRIBUTE.finditer(data) if m[1].startswith(b"file")]
    hits += list(URI.finditer(data))
    if not hits:
        return data
    hit, name = rng.choice(hits), rng.choice((*fuzz_samples.SIDE_FILES, *WORDS))
    return data[: hit.start(2)] + name.encode() + data[hit.end(2) :]


def add_namespace(data: bytes, rng: random.Random) -> bytes:
    """Add a namespace to the root or to an element."""
    hits = list(re.finditer(rb"<(\w+)(?=[\s/>])", data))
    hit = rng.choice((hits[0], rng.choice(hits))) if hits else None
    space = rng.choice((' xmlns="http://x"', ' xmlns:x="y"', ' xmlns=""')).encode()
    return data[: hit.end()] + space + data[hit.end() :] if hit else data


def remove_attribute(data: bytes, rng: random.Random) -> bytes:
    """Remove one attribute."""
    hits = list(ATTRIBUTE.finditer(data))
    hit = rng.choice(hits) if hits else None
    return data[: hit.start()] + data[hit.end() :] if hit else data


def remove_element(data: bytes, rng: random.Random) -> bytes:
    """Remove one element."""
    hits = list(ELEMENT.finditer(data))
    hit = rng.choice(hits) if hits else None
    return data[: hit.start()] + data[hit.end() :] if hit else data


def copy_element(data: bytes, rng: random.Random) -> bytes:
    """Copy one element to another position."""
    hits = list(ELEMENT.finditer(data))
    if not hits:
        return data
    hit, place = rng.choice(hits), rng.choice(hits)
    return data[: place.start()] + hit[0] * rng.choice((1, 1, 1, 500)) + data[place.start() :]


def change_byte(data: bytes, rng: random.Random) -> bytes:
    """Replace one byte."""
    at = rng.randrange(max(len(data), 1))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def cut_bytes(data: bytes, rng: random.Random) -> bytes:
    """Remove a piece or the end."""
    first = rng.randrange(max(len(data), 1))
    last = rng.choice((len(data), first + rng.randrange(200)))
    return data[:first] + data[last:]


def change_encoding(data: bytes, rng: random.Random) -> bytes:
    """Declare another encoding, or convert the text to it."""
    name = rng.choice(ENCODINGS)
    body = re.sub(rb"^\s*<\?xml[^>]*\?>", b"", data).replace(b"base", "bäse".encode())
    head = f'<?xml version="1.0" encoding="{name}"?>'.encode()
    try:
        recoded = (head + body).decode("utf-8", "replace").encode(name, "replace")
    except LookupError:
        recoded = head + body
    return rng.choice((head + body, recoded))


def insert_special(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Insert something hostile after the root tag, or an entity bomb before it."""
    if rng.random() < 0.1:
        body = re.sub(rb"^\s*<\?xml[^>]*\?>", b"", data)
        return BOMB + body.replace(b'name="', b'name="&j;', 1)
    root = re.search(rb"<(mujoco|robot|model)[^>]*>", data)
    at = root.end() if root else 0
    return data[:at] + rng.choice(SPECIAL[kind]).encode() + data[at:]


ELEMENTS, BYTES = (remove_element, copy_element), (change_byte, cut_bytes, change_encoding)
VALUES = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e39, -1.0, 0.0, 1e-320, 1e20)


def change_log(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Change the bytes or the contents of a log."""
    if rng.random() < 0.4:
        return rng.choice((change_byte, cut_bytes))(data, rng)
    try:
        return (change_netcdf if kind == "nc" else change_arrays)(data, rng)
    except Exception:  # it was broken before, or cannot be written like this
        return change_byte(data, rng)


def change_netcdf(data: bytes, rng: random.Random) -> bytes:
    """Change one variable, attribute or dimension of a log."""
    log = xr.load_dataset(io.BytesIO(data), engine="scipy")
    name, how = str(rng.choice(list(log.variables))), rng.randrange(6)
    if how == 0:
        log = log.drop_vars(name)
    elif how == 1:
        log[name] = log[name].dims, change_values(log[name].values, rng), log[name].attrs
    elif how == 2:
        log.attrs[rng.choice(list(log.attrs))] = rng.choice((*VALUES, *WORDS[2:9], [1, 2]))
    elif how == 3:
        del log.attrs[rng.choice(list(log.attrs))]
    elif how == 4:
        dimension = rng.choice(list(log.sizes))
        log = log.isel({dimension: slice(0, rng.choice((0, 1, 2)))})
    else:
        log = log.rename({name: name + "_"})
    return bytes(log.to_netcdf(engine="scipy") or b"")


def change_arrays(data: bytes, rng: random.Random) -> bytes:
    """Change, remove, reshape or convert one array."""
    arrays = dict(np.load(io.BytesIO(data)))
    name, how = rng.choice(list(arrays)), rng.randrange(5)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = change_values(arrays[name], rng)
    elif how == 2:
        arrays[name] = arrays[name][..., None]
    elif how == 3:
        arrays[name] = arrays[name].astype(rng.choice(("U8", "c16", "?", "i4", "f2", "M8[s]")))
    else:
        arrays[name] = np.atleast_1d(arrays[name])[: rng.randrange(3)]
    changed_file = io.BytesIO()
    np.savez(changed_file, **arrays)
    return changed_file.getvalue()


def change_values(values: np.ndarray, rng: random.Random) -> np.ndarray:
    """Replace one or all values of an array by a strange number or by words."""
    if values.dtype.kind not in "fiu" or not values.size:
        return np.full(values.shape, rng.choice(WORDS[2:9]))
    found, value = values.astype(float), rng.choice(VALUES)
    where = slice(None) if rng.random() < 0.2 else rng.randrange(values.size)
    found.reshape(-1)[where] = value
    return found
