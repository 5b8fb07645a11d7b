"""Figure 11: a walk that fails, and ends on the ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tarsus.control.gaits.walk import Walk
from tarsus.simulation.recording.summary import energy_ledger
from tarsus.simulation.simulation import Simulation
from tarsus.viewer import strip
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import DT, STEPPER, floor, hoap1
from tarsus_papers.sugihara2006.walking import LAMBDA, under_strip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE, LASTS, AFTER = 1.0, 0.1, 6.0  # s: of walking, of the push, of falling
FORCE = 40.0  # N forwards at the trunk: 4 N s, 0.8 m/s of the whole robot
TOUCHING = ("*_foot_*", "*_knee", "*_hand", "torso_0", "torso_2")  # the trunk's upper front edge
SLOTS = 14  # for all of these
AT_REST, MANY = 1e-4, 6  # J; contacts
LEDGER = 1e-9  # J
SHOWN = np.array([-0.1, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 5.8])  # s after the push began
WHERE = "section IV-E, Fig. 11"


class Falling(Exhibit):
    """Pushed while it walks, the robot falls on knees, trunk and hands and comes to rest."""

    name: ClassVar[str] = "fall"
    title: ClassVar[str] = "Figure 11: falling while walking"
    where: ClassVar[str] = WHERE
    about: ClassVar[str] = (
        "After a second of walking the trunk is pushed forwards with 40 N for 0.1 s. Soles, knees,"
        " hands and the trunk's upper front edge may touch the floor of section IV-C, lambda 1,"
        " solved until sticking, sliding and leaving agree. What makes the paper's robot fall is"
        " not said. It must come to rest on many contacts, and the energies of all contacts,"
        " motors and the push must add up to the change of the robot's energy."
    )
    caption: ClassVar[str] = (
        "The fall, times since the start of the run; below: kinetic energy and contacts that press."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=["Left out of the reduced version."])
        # the run
        task.tell("walking, pushed, falling")
        log = _fallen()
        energy = energy_ledger(log)
        motion = log["kinetic_energy"].values
        pressed = (log["force_contact"].values[..., 0] > 0).sum(axis=1)
        rest = float(motion[-500:].max())
        data = {
            "strip": strip.poses(log, BEFORE + SHOWN, hoap1()),
            "kinetic": np.round(motion[::10], 9),
            "pressed": pressed[::10],
            "ledger": energy,
            "unconverged": int((log["converged"] == 0).sum()),
        }
        # what is told and what must hold
        rows = [
            Row("kinetic energy in the last half second, at most", None, rest, "J", WHERE),
            Row("contacts that press at the end", None, float(pressed[-1]), "", WHERE),
            Row("most contacts that press at once", None, float(pressed.max()), "", WHERE),
            Row("steps not solved", None, float(data["unconverged"]), "", "", f"of {len(motion)}"),
        ]
        finite = bool(np.isfinite(log["q"].values).all())
        checks = [
            Check("the run is finite", finite, f"{len(motion)} steps"),
            Check(f"it comes to rest, below {AT_REST:g} J", rest < AT_REST, f"{rest:.2g} J"),
            Check(
                f"on at least {MANY} contacts",
                int(np.median(pressed[-500:])) >= MANY,
                f"{int(np.median(pressed[-500:]))} in the last half second",
            ),
            Check(
                "the energy ledger is balanced to 1e-9 J",
                abs(energy["unbalanced"]) < LEDGER,
                f"{energy['unbalanced']:.1g} J",
            ),
        ]
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data:
            return None
        figure, (left, right) = under_strip(data["strip"], panels=2)
        time = 10 * DT * np.arange(len(data["kinetic"]))
        left.semilogy(time, np.maximum(data["kinetic"], 1e-12), color=COLORS[0], lw=1.0)
        left.axhline(AT_REST, color="#999999", lw=0.8, ls=":")
        left.set_ylabel("kinetic energy / J")
        right.plot(time, data["pressed"], color=COLORS[1], lw=1.0)
        right.set_ylabel("contacts that press")
        return figure


def _fallen() -> xr.Dataset:
    """The log of walk, push and fall."""
    simulation = Simulation(
        hoap1(),
        floor(LAMBDA),
        STEPPER,
        controller=Walk(),
        dt=DT,
        contacts=TOUCHING,
        slots=SLOTS,
        pushes="torso",
    )
    # walk, push, fall
    parts = [simulation.run(BEFORE)]
    simulation.set(push={"torso": (FORCE, 0.0, 0.0)})
    parts.append(simulation.run(LASTS))
    simulation.set(push={"torso": (0.0, 0.0, 0.0)})
    parts.append(simulation.run(AFTER))
    # one log: what stands before its first step is the walk's
    before = [name for name in parts[0] if "time" not in parts[0][name].dims]
    moving = [part.drop_vars(before) for part in parts]
    whole = xr.concat(moving, "time", data_vars="minimal", combine_attrs="override")
    return whole.assign({name: parts[0][name] for name in before})
