"""Measure docs/contact_truth.md's tables anew: `python tools/contact_truth.py` (half an hour).

Every law under the stepper `midpoint`, and MuJoCo, on five scenes of `tarsus validate`, also where
a law does not claim the effect.
"""

from __future__ import annotations

import datetime
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tarsus import registry
from tarsus.mujoco_runs.library import mujoco
from tarsus.validation.mujoco_engine import NAME, SETTINGS
from tarsus.validation.table import FAIL, LAWS, NOT_MODELED, ValidationRow, validate

PAGE = Path(__file__).parents[1] / "docs" / "contact_truth.md"
PLACE = re.compile(r"(<!-- measured: contact truth -->\n).*?(<!-- end of measured -->)", re.DOTALL)
SCENES = ("creep", "gripped_capsule", "foot_edge", "foot_force", "isotropic_friction")


def measured(law: str) -> list[ValidationRow]:
    """All rows of a law, or of MuJoCo."""
    stepper = None if law == NAME else "midpoint"
    print(law, file=sys.stderr, flush=True)
    return [row for scene in SCENES for row in validate(law, scene, stepper, unclaimed=True)]


def number(row: ValidationRow | None, scale: float = 1.0, claimed: bool = False) -> str:
    """What was measured: `*` if the law does not claim it; a dash if there is no number, or if only
    what is claimed is shown.
    """
    if row is None or row.got is None or (claimed and row.status == NOT_MODELED):
        return "-"
    mark = {NOT_MODELED: " \\*", FAIL: " (fails)"}.get(row.status, "")
    value = abs(row.got) * scale
    return f"{value:.3g}{mark}" if value >= 1e-6 or not value else f"{value:.0e}{mark}"


def find(rows: Sequence[ValidationRow], scene: str, case: str) -> ValidationRow | None:
    """The row of a scene whose quantity begins so."""
    return next((r for r in rows if r.scene == scene and r.case.startswith(case)), None)


def tables(found: dict[str, list[ValidationRow]]) -> str:
    """Markdown of all that was measured."""
    head = (
        "| law | slope: creep / (µm/s) | grip: sinks / (µm/s) | edge: rate / (1/s), true 8.265 |"
        " foot: peak at 5 ms / N | at 1 ms | at 0.1 ms | landing at 5 ms / (N s) | at 0.1 ms |"
        " point turned [1] |\n" + "|---" * 10 + "|\n"
    )
    rows = []
    for law, own in found.items():
        grip = "sinks, elliptic, impratio 10" if law == NAME else "sinks"
        cells = [
            number(find(own, "creep", "speed"), 1e6),
            number(find(own, "gripped_capsule", grip), 1e6),
            number(find(own, "foot_edge", "growth")),
            *(number(find(own, "foot_force", f"peak, dt {dt} ms")) for dt in ("5", "1", "0.1")),
            *(
                number(find(own, "foot_force", f"landing, dt {dt} ms"), claimed=True)
                for dt in ("5", "0.1")
            ),
            number(find(own, "isotropic_friction", "point")),
        ]
        rows.append(f"| `{law}` | {' | '.join(cells)} |\n")
    seven = "".join(
        f"| {row.case.removeprefix('sinks, ')} | {1e6 * abs(row.got or 0.0):.3g} |\n"
        for row in found[NAME]
        if row.scene == "gripped_capsule"
    )
    today = datetime.date.today().isoformat()
    return (
        f"Measured on {today}, {platform.machine()}, float64, stepper `midpoint`; MuJoCo"
        f" {mujoco().__version__}: {SETTINGS}. Marked \\*: the law says that it does not model what"
        " the scene needs. A dash: it cannot be run, or a landing is spread over many steps. Steps"
        " are those asked for where the ground is rigid, 0.25 ms at most (grip: 0.02 ms) where"
        " it gives way, 2 ms at most in MuJoCo.\n\n"
        f"{head}{''.join(rows)}\n"
        "The same grip in MuJoCo, seven settings:\n\n"
        f"| setting | sinks / (µm/s) |\n|---|---|\n{seven}\n"
    )


if __name__ == "__main__":
    results = {law: measured(law) for law in (*registry.names(LAWS), NAME)}
    text = PAGE.read_text(encoding="utf-8")
    made = tables(results)
    PAGE.write_text(PLACE.sub(lambda match: f"{match[1]}{made}{match[2]}", text), encoding="utf-8")
    print(made)
