"""Draw the diagrams of the documentation: `uv run python tools/draw_figures.py`.

Each function in `FIGURES` returns one SVG, which is written to docs/figures/NAME.svg. Colors are
mid tones that read on white and on black pages alike; text inside boxes is white.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
BLUE, GREEN, ORANGE, PURPLE, GRAY = "#2b6cb0", "#2a7a52", "#b7521e", "#6b46c1", "#5b6472"
INK = "#78808c"  # text and lines on the page: contrast of at least 4 with white and with black
PALE = "#9aa3af"
AS_TEXT = {BLUE: "#3a80c6", GREEN: "#2f9362", ORANGE: "#d0662a"}  # brighter on dark pages
SCALE = 1.18  # of text: pages show figures at two thirds of their size
MARK = re.compile(r"([_^])([A-Z0-9])")  # q^S and g_N: superscript and subscript


class Drawing:
    """An SVG under construction; positions are in pixels, y points down."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = width, height
        self.parts = [f"<title>{escape(title)}</title>"]

    def text(
        self,
        x: float,
        y: float,
        words: str,
        color: str = INK,
        size: int = 14,
        anchor: str = "middle",
    ) -> None:
        """Write one line of text, or several separated by newlines, around the baseline y."""
        size = round(SCALE * size)
        lines = words.split("\n")
        top = y - (len(lines) - 1) * size * 0.62
        for k, line in enumerate(lines):
            self.parts.append(
                f'<text x="{x:g}" y="{top + k * size * 1.25:g}" fill="{AS_TEXT.get(color, color)}"'
                f' font-size="{size}" text-anchor="{anchor}">{_marked(line, size)}</text>'
            )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str,
        color: str,
        size: int = 14,
    ) -> None:
        """Draw a filled box with white text in its middle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"'
            f' fill="{color}"/>'
        )
        self.text(x + width / 2, y + height / 2 + size * 0.4, words, "#ffffff", size)

    def frame(self, x: float, y: float, width: float, height: float, color: str = PALE) -> None:
        """Draw an empty rounded rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="none"'
            f' stroke="{color}" stroke-dasharray="5 4"/>'
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        color: str = INK,
        width: float = 2,
        dash: str = "",
    ) -> None:
        """Draw a polyline."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width:g}"'
            f'{dashed} stroke-linejoin="round"/>'
        )

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str = INK,
        width: float = 2,
    ) -> None:
        """Draw a straight arrow."""
        (x0, y0), (x1, y1) = start, end
        angle = math.atan2(y1 - y0, x1 - x0)
        tip = 6 + 2 * width
        neck = x1 - tip * math.cos(angle), y1 - tip * math.sin(angle)
        self.line([start, neck], color, width)
        side = tip * 0.45
        left = neck[0] - side * math.sin(angle), neck[1] + side * math.cos(angle)
        right = neck[0] + side * math.sin(angle), neck[1] - side * math.cos(angle)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, left, right))
        self.parts.append(f'<polygon points="{corners}" fill="{color}"/>')

    def circle(
        self, x: float, y: float, radius: float, fill: str = "none", stroke: str = INK
    ) -> None:
        """Draw a circle."""
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{stroke}"'
            ' stroke-width="2"/>'
        )

    def raw(self, element: str) -> None:
        """Add an element as it is."""
        self.parts.append(element)

    def svg(self) -> str:
        """Return the document."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" font-family="sans-serif" role="img">'
        )
        return "\n".join([head, *self.parts, "</svg>"]) + "\n"


def _marked(line: str, size: int) -> str:
    """Return a line with its superscripts and subscripts as spans."""
    shift = round(0.3 * size)

    def span(match: re.Match[str]) -> str:
        dy = -shift if match[1] == "^" else shift
        small = f'<tspan dy="{dy}" font-size="{0.75 * size:g}">{match[2]}</tspan>'
        return f'{small}<tspan dy="{-dy}">\u200b</tspan>'

    return MARK.sub(span, escape(line))


def pipeline() -> str:
    """Draw the way from a robot's file to machine code."""
    d = Drawing(1000, 330, "From a robot file to machine code")
    y, h = 60, 70
    stages = [
        (10, 130, "MJCF, URDF\nor SDF file", GRAY),
        (190, 150, "Robot\nbodies, joints", BLUE),
        (400, 170, "Step program\nsymbolic expressions", BLUE),
        (630, 150, "Tape\nno branches", BLUE),
        (840, 150, "Machine code\nCPU or GPU", GREEN),
    ]
    for x, w, words, color in stages:
        d.box(x, y, w, h, words, color, 13)
    for (x, w, *_), (x2, *_) in itertools.pairwise(stages):
        d.arrow((x + w + 4, y + h / 2), (x2 - 4, y + h / 2))
    for x, words in (
        (165, "1 import"),
        (370, "2 assemble"),
        (600, "3 lower"),
        (810, "4 compile"),
    ):
        d.text(x, 40, words, INK, 14)
    parts = ["law", "stepper", "terrain", "controller", "sensors"]
    for k, part in enumerate(parts):
        d.box(275 + 86 * k, 190, 78, 34, part, PURPLE, 12)
    d.line([(275, 172), (697, 172)], PALE)
    d.arrow((485, 172), (485, y + h + 4))
    d.text(485, 250, "each one is data: a frozen dataclass with parameters", INK, 13)
    d.box(840, 190, 150, 34, "log, arrays, tensors", GRAY, 12)
    d.arrow((915, y + h + 4), (915, 186))
    d.text(905, 165, "5 run", INK, 14, "end")
    d.box(720, 190, 100, 34, "C source", GRAY, 12)
    d.arrow((725, y + h + 4), (765, 186))
    d.text(
        500,
        305,
        "Steps 1 to 3 happen once per simulation; machine code is cached on disk.",
        INK,
        14,
    )
    return d.svg()


def step() -> str:
    """Draw one step of the midpoint method, and where it looks for contact."""
    d = Drawing(960, 420, "One time step: contact is evaluated at the midpoint")
    x0, xm, x1 = 130, 480, 830
    ground = 265
    d.line([(40, ground), (920, ground)], PALE, 3)
    for x in range(50, 920, 24):
        d.line([(x, ground + 12), (x + 10, ground + 2)], PALE, 1.5)
    d.text(52, ground + 32, "ground", PALE, 13, "start")
    path = [(x0, 150.0), (xm, ground + 6.0), (x1, ground + 6.0)]
    d.line([path[0], path[1]], BLUE, 3)
    d.line([path[1], path[2]], GREEN, 3)
    for (x, y), color in zip(path, (BLUE, ORANGE, GREEN), strict=True):
        d.circle(x, y - 16, 16, "none", color)
    for x, label in ((x0, "t\nstart S"), (xm, "t + Δt/2\nmidpoint M"), (x1, "t + Δt\nend E")):
        d.line([(x, 318), (x, 332)], INK)
        d.text(x, 362, label, INK, 15)
    d.arrow((60, 325), (915, 325))
    d.text(x0, 98, "q^S, u^S", BLUE, 17)
    d.text(305, 150, "q^M = q^S + Δt/2 F u^S", BLUE, 15)
    d.text(xm, 60, "evaluate at q^M\ngap g_N, contact frame, W, M, h", ORANGE, 15)
    d.arrow((xm, 92), (xm, 222), ORANGE)
    d.text(x1, 98, "q^E, u^E", GREEN, 17)
    d.text(672, 222, "solve for the impulses Λ, then\nu^E = u_free + M⁻¹ W Λ", GREEN, 15)
    d.text(655, 300, "q^E = q^M + Δt/2 F u^E", GREEN, 15)
    d.text(480, 408, "A contact with g_N ≤ 0 at the midpoint takes part in the step.", INK, 14)
    return d.svg()


def contact_frame() -> str:
    """Draw a contact frame with gap and friction cone."""
    d = Drawing(960, 390, "Contact frame, gap and friction cone")
    # left: the gap
    ground = "M 20 300 C 120 270, 220 330, 320 290 S 440 280, 450 290"
    d.raw(f'<path d="{ground}" fill="none" stroke="{PALE}" stroke-width="3"/>')
    d.circle(225, 170, 55, "none", BLUE)
    d.circle(225, 170, 3, BLUE, BLUE)
    d.text(225, 152, "candidate", BLUE, 14)
    foot, touch = (225, 225), (225, 304)
    d.circle(*foot, 4, ORANGE, ORANGE)
    d.text(241, 222, "P", ORANGE, 16, "start")
    d.line([(215, 225), (150, 225)], PALE, 1.5, "4 3")
    d.line([(215, 304), (150, 304)], PALE, 1.5, "4 3")
    d.arrow((160, 266), (160, 227), ORANGE)
    d.arrow((160, 264), (160, 303), ORANGE)
    d.text(148, 270, "gap g_N > 0", ORANGE, 15, "end")
    d.circle(*touch, 4, GREEN, GREEN)
    d.arrow(touch, (300, 304), GREEN, 2.5)
    d.text(312, 318, "t_1", GREEN, 16)
    d.arrow(touch, (258, 338), GREEN, 2.5)
    d.text(272, 350, "t_2", GREEN, 16)
    d.arrow((225, 304), (225, 238), GREEN, 2.5)
    d.text(238, 262, "n", GREEN, 16, "start")
    d.text(235, 378, "The gap is negative when P is below the ground.", INK, 14)
    # right: the cone
    apex = (720, 290)
    d.line([(490, 290), (950, 290)], PALE, 3)
    top, half = 110, 105
    d.raw(
        f'<path d="M {apex[0]} {apex[1]} L {apex[0] - half} {top} A {half} 24 0 0 0'
        f' {apex[0] + half} {top} Z" fill="{BLUE}" fill-opacity="0.18" stroke="{BLUE}"'
        ' stroke-width="2"/>'
    )
    d.raw(
        f'<ellipse cx="{apex[0]}" cy="{top}" rx="{half}" ry="24" fill="{BLUE}"'
        f' fill-opacity="0.12" stroke="{BLUE}" stroke-width="2"/>'
    )
    d.arrow(apex, (720, 60), INK, 1.5)
    d.text(734, 66, "Λ_N", INK, 16, "start")
    d.arrow(apex, (752, 140), GREEN, 3)
    d.text(800, 176, "stick: Λ inside", GREEN, 14, "start")
    d.arrow(apex, (632, 140), ORANGE, 3)
    d.text(612, 176, "slip: Λ on the cone,\nagainst the velocity", ORANGE, 14, "end")
    d.line([(720, 110), (825, 110)], BLUE, 1.5, "4 3")
    d.text(838, 115, "radius μ Λ_N", BLUE, 14, "start")
    d.arrow((720, 290), (790, 290), ORANGE, 2.5)
    d.text(800, 312, "slip velocity γ_T", ORANGE, 14)
    d.text(720, 350, "Coulomb friction: |Λ_T| ≤ μ Λ_N", INK, 14)
    return d.svg()


def layers() -> str:
    """Draw the packages of the simulator and their layers."""
    d = Drawing(960, 600, "Packages and their layers: imports point downwards")

    def row(y: int, names: Sequence[str], color: str, x: float, width: float) -> None:
        gap = 8
        each = (width - gap * (len(names) - 1)) / len(names)
        for k, name in enumerate(names):
            d.box(x + k * (each + gap), y, each, 34, name, color, 13)

    uses = ("comparison", "validation", "sweeps", "learning", "planning", "policies")
    row(30, ["commands"], GRAY, 170, 770)
    row(84, uses, GRAY, 170, 770)
    more = ("identification", "mujoco_runs", "viewer", "exchange", "environments")
    row(126, more, GRAY, 170, 770)
    row(180, ["simulation: a program, its worlds and their logs"], BLUE, 170, 770)
    row(234, ["stepping: the only package that knows robots and laws"], BLUE, 170, 770)
    d.frame(164, 282, 500, 164)
    row(292, ["tasks", "control", "robots", "sensing"], GREEN, 174, 480)
    row(336, ["collision", "terrain", "morphology"], GREEN, 174, 480)
    row(380, ["dynamics", "model", "spatial"], GREEN, 174, 480)
    d.frame(676, 282, 270, 164)
    row(336, ["contact: laws and solvers"], ORANGE, 686, 250)
    row(462, ["algebra"], PURPLE, 170, 770)
    row(504, ["program: tracing, lowering, LLVM, cache"], PURPLE, 170, 770)
    row(546, ["parameters", "registry", "references", "errors"], PURPLE, 170, 770)
    for y, words in (
        (52, "command line"),
        (126, "uses of a\nsimulation"),
        (202, "one run"),
        (256, "one step"),
        (362, "mechanics\nand laws"),
        (526, "shared base"),
    ):
        d.text(150, y, words, INK, 14, "end")
    d.arrow((40, 64), (40, 562), PALE)
    d.text(40, 584, "imports", INK, 13)
    d.text(414, 436, "mechanics: knows no contact law", INK, 12)
    d.text(811, 436, "laws: know no robot", INK, 12)
    return d.svg()


def coordinates() -> str:
    """Draw minimal, extended and maximal coordinates, and a closed loop."""
    d = Drawing(960, 330, "Coordinates and closed loops")

    def joint(x: float, y: float, cut: bool) -> None:
        d.circle(x, y, 8, "none" if cut else BLUE, ORANGE if cut else BLUE)
        if cut:
            d.line([(x - 5, y - 5), (x + 5, y + 5)], ORANGE)
            d.line([(x - 5, y + 5), (x + 5, y - 5)], ORANGE)

    def leg(x: float, title: str, cut: Sequence[bool], count: str) -> None:
        d.raw(f'<rect x="{x - 70}" y="60" width="140" height="34" rx="6" fill="{GRAY}"/>')
        d.text(x, 82, "base", "#ffffff", 13)
        for side in (-1, 1):
            hip, knee, foot = (x + 45 * side, 106), (x + 70 * side, 165), (x + 45 * side, 226)
            d.line([hip, knee, foot], INK, 7)
            joint(*hip, cut[0])
            joint(*knee, cut[1])
        d.text(x, 36, title, INK, 16)
        d.text(x, 264, count, INK, 14)

    leg(120, "minimal", (False, False), "StarlETH: 18 velocities\nno constraints")
    leg(330, "extended", (True, False), "38 velocities\n20 constraints")
    leg(540, "maximal", (True, True), "78 velocities\n60 constraints")
    x = 830
    d.text(x, 36, "closed loop", INK, 16)
    a, b, c, e = (770, 106), (740, 190), (900, 212), (880, 106)
    d.line([(735, 96), (920, 96)], GRAY, 12)
    d.line([a, b, c], INK, 7)
    d.line([e, c], INK, 7)
    for point in (a, b, e):
        joint(*point, False)
    joint(*c, True)
    d.text(x, 264, "the tree plus one\nclosing joint", INK, 14)
    d.line([(650, 50), (650, 285)], PALE, 1.5, "5 4")
    joint(190, 312, False)
    d.text(206, 317, "joint of the tree: a coordinate in q", INK, 13, "start")
    joint(500, 312, True)
    d.text(516, 317, "joint outside the tree: rows of constraints, impulse Λ_B", INK, 13, "start")
    return d.svg()


def batch() -> str:
    """Draw how worlds share threads and vector lanes."""
    d = Drawing(
        960, 360, "A batch: threads take groups of worlds, a vector holds one number of each"
    )
    lanes, size = 8, 30
    for thread in range(2):
        y = 60 + 140 * thread
        d.frame(20, y - 24, 440, 118)
        d.text(36, y - 4, f"thread {thread + 1}", INK, 14, "start")
        for group in range(2):
            x = 36 + 212 * group
            for lane in range(lanes):
                color = (BLUE, GREEN)[group]
                d.parts.append(
                    f'<rect x="{x + lane * 25}" y="{y + 14}" width="22" height="{size}" rx="3"'
                    f' fill="{color}"/>'
                )
                world = thread * 16 + group * 8 + lane
                d.text(x + lane * 25 + 11, y + 34, str(world), "#ffffff", 11)
            d.text(x + 99, y + 66, "one vector of 8 worlds", INK, 12)
    d.arrow((470, 150), (540, 150))
    d.text(505, 136, "one call", INK, 13)
    d.box(550, 60, 180, 44, "same machine code\nfor every group", PURPLE, 13)
    names = ["q[0]", "q[1]", "…", "u[0]", "law.mu"]
    for k, name in enumerate(names):
        y = 124 + 34 * k
        d.text(560, y + 18, name, INK, 13, "start")
        for lane in range(lanes):
            d.parts.append(
                f'<rect x="{622 + lane * 36}" y="{y}" width="32" height="24" rx="3" fill="{BLUE}"'
                f' fill-opacity="{0.9 if name != "…" else 0.35}"/>'
            )
            if name != "…":
                d.text(638 + lane * 36, y + 16, f"w{lane}", "#ffffff", 11)
    d.text(765, 316, "registers: neighboring worlds lie side by side", INK, 13)
    d.text(
        480,
        350,
        "A world's bits depend neither on its lane nor on its thread nor on the number of worlds.",
        INK,
        14,
    )
    return d.svg()


def control_period() -> str:
    """Draw one control period of an environment."""
    d = Drawing(960, 330, "One control period of an environment: one compiled call")
    d.frame(140, 60, 690, 210)
    d.text(485, 48, "env.step(actions): one compiled call for all worlds", INK, 15)
    d.box(10, 128, 110, 60, "policy:\nactions", PURPLE, 12)
    d.arrow((122, 158), (156, 158))
    d.box(160, 128, 96, 60, "targets of\nthe servos", GRAY, 12)
    d.arrow((258, 158), (278, 158))
    for k in range(5):
        d.box(282 + 50 * k, 128, 44, 60, f"step\n{k + 1}", BLUE, 12)
    d.text(405, 112, "5 steps of 4 ms", INK, 13)
    d.arrow((528, 158), (552, 158))
    d.box(556, 96, 120, 36, "reward terms", GREEN, 12)
    d.box(556, 140, 120, 36, "failed, timed out", GREEN, 12)
    d.box(556, 184, 120, 36, "observation", GREEN, 12)
    d.arrow((678, 158), (704, 158))
    d.box(708, 120, 108, 76, "worlds that\nended: new\nepisode", ORANGE, 12)
    d.arrow((832, 158), (858, 158))
    d.text(862, 112, "observation\nreward\nterminated\ntruncated\nfinal", INK, 13, "start")
    d.arrow((282, 236), (528, 236))
    d.arrow((528, 236), (282, 236))
    d.text(405, 256, "control period 20 ms (50 Hz)", INK, 13)
    d.text(
        480,
        312,
        "observation belongs to the new episode; final is the last one of the old episode",
        INK,
        14,
    )
    return d.svg()


class Panel(NamedTuple):
    """Curves over one axis: each a function on [-1, 1] or [0, 1], with values from 0 to 1.

    Attributes
    ----------
    axis, words
        Name of the horizontal axis, and the text above.
    curves
        Functions with their colors.
    centered
        Whether the vertical axis is in the middle.
    """

    axis: str
    words: str
    curves: Sequence[tuple[Callable[[float], float], str]]
    centered: bool = False


def draw_panels(title: str, panels: Sequence[Panel]) -> str:
    """Draw panels with curves side by side."""
    d = Drawing(30 + 310 * len(panels), 300, title)
    for k, panel in enumerate(panels):
        left, bottom = 40 + 310 * k, 240
        start, width = (left + 130, 120) if panel.centered else (left, 250)
        d.arrow((left, bottom), (left + 270, bottom))
        d.arrow((start, bottom + 8), (start, 70))
        d.text(left + 262, bottom + 26, panel.axis, INK, 13, "end")
        xs = [0.01 * n for n in range(-100 if panel.centered else 0, 101, 2)]
        for curve, color in panel.curves:
            d.line([(start + width * x, bottom - 150 * curve(x)) for x in xs], color, 3)
        d.text(left + 130, 40, panel.words, INK, 13)
    return d.svg()


def joint_friction() -> str:
    """Draw how dry friction varies with angle, rate and load."""

    def stribeck(x: float) -> float:
        return 0.4 + 0.4 * math.exp(-abs(x) / 0.25)

    angle = "slope and curvature,\nconstant outside the log"
    load = "load (driving, right) and\nback_load (driven, left)"
    panels = [
        Panel("angle q", angle, [(_friction_of_angle, BLUE)], True),
        Panel("rate u", "stribeck: more at rest", [(stribeck, BLUE)], True),
        Panel("motor torque", load, [(_friction_of_load, BLUE)], True),
    ]
    return draw_panels("Largest torque of dry friction over angle, rate and motor torque", panels)


def dc_motor() -> str:
    """Draw the limits of a DC motor: torque over rate, heating, and the hot current limit."""

    def limit(current: float, resistance: float) -> Callable[[float], float]:
        return lambda x: max(0.0, min(current, 1.3 * (1 - x / 0.95) / resistance))

    def heating(x: float) -> float:
        return 0.15 + 0.75 * (1 - math.exp(-x / 0.3))

    def derated(x: float) -> float:
        return 0.85 * min(1.0, max(0.0, (0.95 - x) / 0.35))

    panels = [
        Panel(
            "rate u",
            "largest torque:\ncold (blue) and hot (orange)",
            [(limit(0.45, 1.4), ORANGE), (limit(0.8, 1.0), BLUE)],
        ),
        Panel("time", "temperature of the winding\nat constant current", [(heating, BLUE)]),
        Panel("temperature", "limit of the current", [(derated, BLUE)]),
    ]
    return draw_panels("A DC motor: torque over rate, heating, and current when hot", panels)


def lag_and_encoder() -> str:
    """Draw a delayed and lagging torque, and the readings of an encoder."""

    def lagging(x: float) -> float:
        return 0.8 * (1 - math.exp(-(x - 0.3) / 0.12)) if x > 0.3 else 0.0

    def rounded(x: float) -> float:
        return 0.1 * math.floor((0.8 * x + 0.12) / 0.1 + 0.5)

    def jump(at: float) -> Callable[[float], float]:
        return lambda x: 0.8 if x > at else 0.0

    panels = [
        Panel(
            "time",
            "signal (gray), late (green),\nwith a lag (blue)",
            [(jump(0.1), PALE), (jump(0.3), GREEN), (lagging, BLUE)],
        ),
        Panel(
            "angle q",
            "encoder: true angle (gray),\nreading (blue)",
            [(lambda x: 0.8 * x, PALE), (rounded, BLUE)],
        ),
        Panel(
            "time",
            "true rate (gray) and rate\nfrom the readings (blue)",
            [(lambda x: 0.3, PALE), (lambda x: 0.75 if x * 5 % 1 < 0.4 else 0.0, BLUE)],
        ),
    ]
    return draw_panels("Delay and lag of a torque, and an encoder's angle and rate", panels)


def actuator_network() -> str:
    """Draw the inputs of an actuator network, the network and the torque of a fitted servo."""
    d = Drawing(960, 300, "Network from histories of error and rate to the torque")
    for row, (name, color) in enumerate((("error", BLUE), ("rate", GREEN))):
        top = 70 + 110 * row
        for k, past in enumerate(("t", "t - h", "t - 2h")):
            d.box(20 + 100 * k, top, 90, 60, f"{name}\n{past}", color, 12)
        d.arrow((315, top + 30), (380, 155), INK)
    for k, (count, height) in enumerate(((6, 180), (6, 180), (4, 120))):
        for n in range(count):
            d.circle(410 + 60 * k, 155 - height / 2 + (n + 0.5) * height / count, 9, PALE)
    d.arrow((560, 155), (640, 155), INK)
    d.text(600, 140, "torque", INK, 13)
    d.arrow((660, 240), (940, 240))
    d.arrow((795, 248), (795, 60))
    d.text(935, 266, "error", INK, 13, "end")
    d.text(795, 40, "torque: servo with a limit (gray),\nnetwork (blue)", INK, 13)

    def servo(x: float) -> float:
        return 0.5 + 0.45 * min(1.0, max(-1.0, 2 * x))

    xs = [-1 + 0.02 * n for n in range(101)]
    d.line([(795 + 125 * x, 240 - 170 * servo(x)) for x in xs], PALE, 3)
    soft = [(795 + 125 * x, 240 - 170 * (0.5 + 0.44 * math.tanh(2.4 * x))) for x in xs]
    d.line(soft, BLUE, 3)
    return d.svg()


def elastic_gears() -> str:
    """Draw the torque of a spring and of teeth, backlash in motion, and a resonance."""

    def teeth(x: float) -> float:
        return 0.5 + (0.45 if x > 0.4 else -0.45 if x < -0.4 else 0.0)

    def motor(x: float) -> float:
        return 0.45 - 0.35 * math.cos(2 * math.pi * 1.5 * x)

    def link(x: float) -> float:
        at, step = 0.17, 0.001
        for n in range(round(x / step) + 1):
            at = min(max(at, motor(n * step) - 0.07), motor(n * step) + 0.07)
        return at

    def resonance(x: float) -> float:
        return min(0.9, 0.15 / math.hypot(1 - (x / 0.5) ** 2, 0.15 * x / 0.5))

    words = "oscillation of the link:\nresonance of rotor and link"
    panels = [
        Panel(
            "deflection",
            "torque of a spring (blue)\nand of teeth with play (orange)",
            [(lambda x: 0.5 + 0.45 * x, BLUE), (teeth, ORANGE)],
            True,
        ),
        Panel(
            "time",
            "angle of the motor (gray)\nand of the link behind play (blue)",
            [(motor, PALE), (link, BLUE)],
        ),
        Panel("frequency", words, [(resonance, BLUE)]),
    ]
    return draw_panels("Elastic gears: torque over deflection, backlash, and resonance", panels)


def _friction_of_angle(x: float) -> float:
    inside = min(max(x, -0.7), 0.7)
    return 0.45 - 0.3 * inside + 0.25 * inside**2


def _friction_of_load(x: float) -> float:
    return 0.3 + (0.5 if x > 0 else 0.25) * abs(x)


FIGURES: dict[str, Callable[[], str]] = {
    "pipeline": pipeline,
    "step": step,
    "contact_frame": contact_frame,
    "layers": layers,
    "coordinates": coordinates,
    "batch": batch,
    "control_period": control_period,
    "joint_friction": joint_friction,
    "dc_motor": dc_motor,
    "lag_and_encoder": lag_and_encoder,
    "actuator_network": actuator_network,
    "elastic_gears": elastic_gears,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
        print(f"docs/figures/{name}.svg")
