"""Figure 11: a walk that fails and ends on the ground."""

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
from tarsus_papers.sugihara2006.walk_log import LAMBDA, under_strip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WALK_TIME, PUSH_TIME, FALL_TIME = 1.0, 0.1, 6.0  # s
FORCE = 40.0  # N forwards on the trunk: 4 N s, or 0.8 m/s of the whole robot
CONTACTS = ("*_foot_*", "*_knee", "*_hand", "torso_0", "torso_2")  # last two: upper front edge
SLOTS = 14  # for all of these contacts
REST_ENERGY, MIN_CONTACTS = 1e-4, 6  # J; number
LEDGER_TOLERANCE = 1e-9  # J
FRAME_TIMES = np.array(
    [-0.1, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 5.8]
)  # s after the start of the push
LOCATION = "section IV-E, Fig. 11"


class Falling(Exhibit):
    """A push during a walk makes the robot fall on knees, trunk and hands, and come to rest."""

    name: ClassVar[str] = "fall"
    title: ClassVar[str] = "Figure 11: falling while walking"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "After a second of walking the trunk is pushed forwards with 40 N for 0.1 s. Soles, knees,"
        " hands and the trunk's upper front edge may touch the floor of section IV-C with lambda"
        " 1, solved until stick, slip and separation are consistent. The paper does not say what"
        " makes its robot fall. The robot must come to rest on many contacts, and the energies of"
        " all contacts, motors and the push must add up to the change of its energy."
    )
    caption: ClassVar[str] = (
        "The fall, times since the start of the run; below: kinetic energy and closed contacts."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=["Skipped in the reduced version."])
        # run
        task.on_progress("walking, pushed, falling")
        log = _run_fall()
        energy = energy_ledger(log)
        motion = log["kinetic_energy"].values
        pressed = (log["force_contact"].values[..., 0] > 0).sum(axis=1)
        rest = float(motion[-500:].max())
        data = {
            "strip": strip.poses(log, WALK_TIME + FRAME_TIMES, hoap1()),
            "kinetic": np.round(motion[::10], 9),
            "pressed": pressed[::10],
            "ledger": energy,
            "unconverged": int((log["converged"] == 0).sum()),
        }
        # rows and checks
        rows = [
            Row("kinetic energy in the last half second, at most", None, rest, "J", LOCATION),
            Row("closed contacts at the end", None, float(pressed[-1]), "", LOCATION),
            Row("largest number of closed contacts", None, float(pressed.max()), "", LOCATION),
            Row("unconverged steps", None, float(data["unconverged"]), "", "", f"of {len(motion)}"),
        ]
        finite = bool(np.isfinite(log["q"].values).all())
        checks = [
            Check("the run is finite", finite, f"{len(motion)} steps"),
            Check(
                f"it comes to rest, below {REST_ENERGY:g} J", rest < REST_ENERGY, f"{rest:.2g} J"
            ),
            Check(
                f"on at least {MIN_CONTACTS} contacts",
                int(np.median(pressed[-500:])) >= MIN_CONTACTS,
                f"{int(np.median(pressed[-500:]))} in the last half second",
            ),
            Check(
                "the energy ledger balances to 1e-9 J",
                abs(energy["unbalanced"]) < LEDGER_TOLERANCE,
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
        left.axhline(REST_ENERGY, color="#999999", lw=0.8, ls=":")
        left.set_ylabel("kinetic energy / J")
        right.plot(time, data["pressed"], color=COLORS[1], lw=1.0)
        right.set_ylabel("closed contacts")
        return figure


def _run_fall() -> xr.Dataset:
    """Return the log of walk, push and fall."""
    simulation = Simulation(
        hoap1(),
        floor(LAMBDA),
        STEPPER,
        controller=Walk(),
        dt=DT,
        contacts=CONTACTS,
        slots=SLOTS,
        pushes="torso",
    )
    # walk, push, fall
    logs = [simulation.run(WALK_TIME)]
    simulation.set(push={"torso": (FORCE, 0.0, 0.0)})
    logs.append(simulation.run(PUSH_TIME))
    simulation.set(push={"torso": (0.0, 0.0, 0.0)})
    logs.append(simulation.run(FALL_TIME))
    # one log, with the initial state of the walk
    initial = [name for name in logs[0] if "time" not in logs[0][name].dims]
    steps = [log.drop_vars(initial) for log in logs]
    joined = xr.concat(steps, "time", data_vars="minimal", combine_attrs="override")
    return joined.assign({name: logs[0][name] for name in initial})
