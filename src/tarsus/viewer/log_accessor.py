"""`log.tarsus`: what a log tells of feet, phases, energy and trunk; its report; its plots.

Every log that Tarsus makes or opens has it; a Dataset opened by xarray itself has it once this
module is imported, or `tarsus.open_log` was used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from tarsus.contact.criteria import STATES
from tarsus.contact.ledger import SHARES
from tarsus.errors import InvalidValue, unknown_name
from tarsus.simulation.recording.attitude import trunk_angles
from tarsus.simulation.recording.log import mean_of_role, read_log
from tarsus.simulation.recording.log_schema import check_log
from tarsus.simulation.recording.variables import ROBOT_SHARES
from tarsus.viewer.run_report import RunReport, report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEEDED = ("dt", "q", "u", "gap", "force_contact", "contact_point", "state")
PHASE: Any = (
    *("contact", "phase", "start", "end", "duration", "whole"),
    *("slip", "peak_force", "impulse", "travel"),
)
PLOTS = ("run", "feet", "phases", "energy", "trunk")


@xr.register_dataset_accessor("tarsus")
class LogAccessor:
    """What a log tells; `world` stays a dimension where there are several."""

    def __init__(self, log: xr.Dataset) -> None:
        self._log = check_log(log, NEEDED)

    def feet(self) -> xr.Dataset:
        """Of every contact after every step (time, contact), or with `world`:

        height: gap, m; position (..., xyz): contact point, m, world frame; normal_force,
        tangential_force: N, mean of the step; friction_use: tangential force over mu times the
        normal one [1], NaN where nothing presses or mu is not known; slip_speed: m/s; stance:
        whether it presses.
        """
        # the parts of the force, and what friction could bear
        log, force = self._log, self._log["force_contact"]
        normal = force.sel(axis="normal", drop=True)
        tangents = [force.sel(axis=f"tangent{k}", drop=True) for k in (1, 2)]
        tangential = (tangents[0] ** 2 + tangents[1] ** 2) ** 0.5
        mu = mean_of_role(log, "friction", np.nan)  # type: ignore[arg-type]
        limit = mu * log["ground_friction"] * normal if "ground_friction" in log else mu * normal
        pressing = log["state"] > 0
        found = xr.Dataset(
            {
                "height": log["gap"],
                "position": log["contact_point"],
                "normal_force": normal,
                "tangential_force": tangential,
                "friction_use": (tangential / limit).where(pressing & (limit > 0)),
                "slip_speed": log["slip_speed"],
                "stance": pressing,
            }
        )
        units = {"normal_force": "N", "tangential_force": "N", "friction_use": "1", "stance": "1"}
        for name, unit in units.items():
            found[name].attrs = {"units": unit, "long_name": name.replace("_", " ")}
        return found

    def phases(self) -> pd.DataFrame:
        """The phases of every contact of one world, a row each, in order of contact and time.

        contact; phase: "stance" or "swing"; start, end, duration: s; whole: whether the log holds
        its beginning and its end; slip: the part of a stance in which it slips [1]; peak_force: N;
        impulse: normal, N s; travel: way of the contact point from start to end of it, m.
        """
        log, dt = self._one(), float(self._log.attrs["dt"])
        time, rows = log["time"].values, list[dict[str, Any]]()
        for contact in map(str, log["contact"].values):
            one = log.sel(contact=contact)
            state, force = one["state"].values, one["force_contact"].values[:, 0]
            edges = np.flatnonzero(np.diff(state > 0)) + 1
            # from one change of contact to the next
            for first, last in zip([0, *edges], [*edges, len(state)], strict=True):
                pressed = state[first] > 0
                way = one["contact_point"].values[last - 1] - one["contact_point"].values[first]
                slips = state[first:last] == STATES.index("slip")
                rows.append(
                    {
                        "contact": contact,
                        "phase": "stance" if pressed else "swing",
                        "start": time[first] - dt,
                        "end": time[last - 1],
                        "duration": (last - first) * dt,
                        "whole": bool(first > 0 and last < len(state)),
                        "slip": float(slips.mean()) if pressed else np.nan,
                        "peak_force": float(force[first:last].max()),
                        "impulse": float(force[first:last].sum() * dt),
                        "travel": float(np.linalg.norm(way)),
                    }
                )
        return pd.DataFrame(rows, columns=list(PHASE))

    def energy(self) -> xr.Dataset:
        """Energy so far (time,), or with `world`, J: work since the start of every share of the
        ledger, of contacts summed; `total`: kinetic and potential; `change`: of it since the start;
        `unbalanced`: what of the change no share explains.
        """
        log = self._log
        shares = {}
        for share in (*SHARES, *ROBOT_SHARES):
            if (name := f"energy_{share}") in log:
                work = log[name].sum("contact") if "contact" in log[name].dims else log[name]
                shares[share] = work.cumsum("time")
        total = log["kinetic_energy"] + log["potential_energy"]
        change = total - log["energy_start"]
        shares |= {"total": total, "change": change, "unbalanced": change - sum(shares.values())}
        found = xr.Dataset(shares).assign_coords(time=log["time"])
        for name in found.data_vars:
            found[name].attrs = {"units": "J", "long_name": str(name).replace("_", " ")}
        return found

    def trunk(self) -> xr.Dataset:
        """The floating trunk after every step: position (time, xyz), m; angles (time, angle): yaw,
        pitch, roll, rad; velocity, m/s, world axes; angular_velocity, rad/s, body axes; with
        `world` where there are several. TarsusError for a robot whose base is fixed.
        """
        log = self._log
        angles = trunk_angles(log)
        q, u = (log[f"{x}_uncut" if f"{x}_uncut" in log else x] for x in "qu")
        where = (*q.dims[:-1], "xyz")
        parts = {
            "position": (q.values[..., :3], "m"),
            "velocity": (u.values[..., :3], "m/s"),
            "angular_velocity": (u.values[..., 3:6], "rad/s"),
        }
        found = {
            name: (where, value, {"units": unit, "long_name": name.replace("_", " ")})
            for name, (value, unit) in parts.items()
        }
        return xr.Dataset(found, {"time": log["time"], "xyz": ["x", "y", "z"]}).assign(
            angles=angles
        )

    def report(self) -> RunReport:
        """A run of one world in a few numbers: a dictionary, whose text is a page to read."""
        return report(self._one(), self.phases())

    def plot(self, what: str = "run", to: str | Path | None = None) -> Figure:
        """A figure of one world: "run" (as `tarsus run` draws it), "feet", "phases", "energy" or
        "trunk"; written to the PNG file `to` as well, if given.
        """
        from tarsus.viewer import figure, log_figures

        if what not in PLOTS:
            raise unknown_name("plot of a log", what, PLOTS)
        log = self._one()
        if what == "run":
            told = (str(log.attrs.get(name, "")) for name in ("robot", "law"))
            drawn = figure.run_figure(log, ", ".join(text for text in told if text))
        else:
            drawn = getattr(log_figures, what)(getattr(self, what)(), log)
        if to is not None:
            figure.save(drawn, Path(to))
        return drawn

    def _one(self) -> xr.Dataset:
        if "world" in self._log.dims:
            raise InvalidValue(
                "this log contains several worlds: choose one with log.isel(world=0).", "world"
            )
        return self._log


def open_log(path: str | Path) -> xr.Dataset:
    """The log in a netCDF file, whole or partial, in memory; TarsusError if it cannot be read."""
    log = read_log(Path(path))
    check_log(log)
    return log
