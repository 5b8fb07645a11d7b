"""xarray accessor `log.tarsus`: feet, phases, energy and trunk of a log, its report and plots.

Every log that Tarsus makes or opens has it. A Dataset that was opened with xarray has it once this
module is imported or `tarsus.open_log` was called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from tarsus.contact.criteria import STATES
from tarsus.contact.ledger import SHARES
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.simulation.recording.attitude import trunk_angles
from tarsus.simulation.recording.foot_rows import combine_by_foot
from tarsus.simulation.recording.log import mean_of_role, read_log
from tarsus.simulation.recording.log_schema import check_log
from tarsus.simulation.recording.variables import ROBOT_SHARES
from tarsus.viewer.run_report import RunReport, report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEEDED = ("dt", "q", "u", "gap", "force_contact", "contact_point", "state")
PHASE_COLUMNS: Any = (
    *("contact", "phase", "start", "end", "duration", "whole"),
    *("slip", "peak_force", "impulse", "travel"),
)
PLOTS = ("run", "feet", "phases", "energy", "trunk")


@xr.register_dataset_accessor("tarsus")
class LogAccessor:
    """Quantities derived from a log. A log of several worlds keeps the dimension `world`."""

    def __init__(self, log: xr.Dataset) -> None:
        self._log = check_log(log, NEEDED)

    def feet(self, points: bool = False) -> xr.Dataset:
        """Compute the motion and the forces of every foot after every step.

        A row combines all contact points of a foot or of another body that touches.

        Parameters
        ----------
        points
            Whether there is one row per contact point instead.

        Returns
        -------
        xarray.Dataset
            Variables with the dimensions (time, contact), or (time, world, contact):

            - ``height``: gap in m, of the lowest point;
            - ``position`` (..., xyz): center of pressure in m, world frame; without contact the
              lowest point;
            - ``normal_force``, ``tangential_force``: mean over the step in N;
            - ``friction_use``: tangential force divided by mu times the normal force; NaN without
              contact or if mu is not known;
            - ``slip_speed``: in m/s, of the closed point that slips least;
            - ``stance``: whether the contact is closed.
        """
        # components of the force, and the friction limit
        log = self._log if points else combine_by_foot(self._log)
        force = log["force_contact"]
        normal = force.sel(axis="normal", drop=True)
        tangents = [force.sel(axis=f"tangent{k}", drop=True) for k in (1, 2)]
        tangential = (tangents[0] ** 2 + tangents[1] ** 2) ** 0.5
        mu = mean_of_role(log, "friction", np.nan)  # type: ignore[arg-type]
        limit = mu * log["ground_friction"] * normal if "ground_friction" in log else mu * normal
        closed = log["state"] > 0
        feet = xr.Dataset(
            {
                "height": log["gap"],
                "position": log["contact_point"],
                "normal_force": normal,
                "tangential_force": tangential,
                "friction_use": (tangential / limit).where(closed & (limit > 0)),
                "slip_speed": log["slip_speed"],
                "stance": closed,
            }
        )
        units = {"normal_force": "N", "tangential_force": "N", "friction_use": "1", "stance": "1"}
        for name, unit in units.items():
            feet[name].attrs = {"units": unit, "long_name": name.replace("_", " ")}
        return feet

    def phases(self, points: bool = False) -> pd.DataFrame:
        """Compute the stance and swing phases of every foot, for a log of one world.

        Parameters
        ----------
        points
            Whether every contact point has its own phases, instead of every foot.

        Returns
        -------
        pandas.DataFrame
            One row per phase, ordered by contact and time, with the columns

            - ``contact``, and ``phase``: "stance" or "swing";
            - ``start``, ``end``, ``duration``: in s;
            - ``whole``: whether the log contains both the start and the end of the phase;
            - ``slip``: share of a stance in which the contact slips;
            - ``peak_force``: in N, and ``impulse``: normal impulse in N s;
            - ``travel``: displacement of the contact point from start to end, in m.

        Raises
        ------
        InvalidValue
            If the log contains several worlds.
        """
        log, dt = self._one_world(), float(self._log.attrs["dt"])
        log = log if points else combine_by_foot(log)
        time, rows = log["time"].values, list[dict[str, Any]]()
        for contact in map(str, log["contact"].values):
            one = log.sel(contact=contact)
            state, force = one["state"].values, one["force_contact"].values[:, 0]
            edges = np.flatnonzero(np.diff(state > 0)) + 1
            # from each change of contact to the next
            for first, last in zip([0, *edges], [*edges, len(state)], strict=True):
                closed = state[first] > 0
                path = one["contact_point"].values
                travel = path[last - 1] - path[first]
                slips = state[first:last] == STATES.index("slip")
                rows.append(
                    {
                        "contact": contact,
                        "phase": "stance" if closed else "swing",
                        "start": time[first] - dt,
                        "end": time[last - 1],
                        "duration": (last - first) * dt,
                        "whole": bool(first > 0 and last < len(state)),
                        "slip": float(slips.mean()) if closed else np.nan,
                        "peak_force": float(force[first:last].max()),
                        "impulse": float(force[first:last].sum() * dt),
                        "travel": float(np.linalg.norm(travel)),
                    }
                )
        return pd.DataFrame(rows, columns=list(PHASE_COLUMNS))

    def energy(self) -> xr.Dataset:
        """Compute the energy balance since the start of the run.

        Returns
        -------
        xarray.Dataset
            Variables in J with the dimensions (time,), or (time, world): the accumulated work of
            every term of the energy ledger, summed over contacts; ``total``, the kinetic and
            potential energy; ``change`` of the total since the start; and ``unbalanced``, the part
            of the change that no term explains.
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
        energy = xr.Dataset(shares).assign_coords(time=log["time"])
        for name in energy.data_vars:
            energy[name].attrs = {"units": "J", "long_name": str(name).replace("_", " ")}
        return energy

    def trunk(self) -> xr.Dataset:
        """Compute the motion of the floating trunk after every step.

        Returns
        -------
        xarray.Dataset
            Variables with the dimension ``time``, and ``world`` for several worlds:

            - ``position`` (xyz): in m, world frame;
            - ``angles`` (angle): yaw, pitch and roll in rad;
            - ``velocity`` (xyz): in m/s, world axes;
            - ``angular_velocity`` (xyz): in rad/s, body axes.

        Raises
        ------
        TarsusError
            If the robot's base is fixed.
        """
        log = self._log
        angles = trunk_angles(log)
        q, u = (log[f"{x}_uncut" if f"{x}_uncut" in log else x] for x in "qu")
        dims = (*q.dims[:-1], "xyz")
        parts = {
            "position": (q.values[..., :3], "m"),
            "velocity": (u.values[..., :3], "m/s"),
            "angular_velocity": (u.values[..., 3:6], "rad/s"),
        }
        variables = {
            name: (dims, value, {"units": unit, "long_name": name.replace("_", " ")})
            for name, (value, unit) in parts.items()
        }
        return xr.Dataset(variables, {"time": log["time"], "xyz": ["x", "y", "z"]}).assign(
            angles=angles
        )

    def report(self) -> RunReport:
        """Summarize a run of one world: a dictionary that prints as a readable page."""
        return report(self._one_world(), self.phases())

    def plot(self, what: str = "run", to: str | Path | None = None) -> Figure:
        """Plot a log of one world.

        Parameters
        ----------
        what
            "run" (the plot of `tarsus run`), "feet", "phases", "energy" or "trunk".
        to
            PNG file to write the figure to; None to write none.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UnknownName
            If there is no such plot.
        InvalidValue
            If the log contains several worlds.
        """
        from tarsus.viewer import figure, log_figures

        if what not in PLOTS:
            raise unknown_name_error("plot of a log", what, PLOTS)
        log = combine_by_foot(self._one_world())
        if what == "run":
            names = (str(log.attrs.get(name, "")) for name in ("robot", "law"))
            plot = figure.run_figure(log, ", ".join(text for text in names if text))
        else:
            plot = getattr(log_figures, f"draw_{what}")(getattr(self, what)(), log)
        if to is not None:
            figure.save(plot, Path(to))
        return plot

    def _one_world(self) -> xr.Dataset:
        if "world" in self._log.dims:
            raise InvalidValue(
                "this log contains several worlds: choose one with log.isel(world=0).", "world"
            )
        return self._log


def open_log(path: str | Path) -> xr.Dataset:
    """Read a log of a run into memory.

    Parameters
    ----------
    path
        netCDF file of `tarsus run` or `Simulation.run`, complete or partial.

    Returns
    -------
    xarray.Dataset
        The log. Its variables are described by their attributes ``units`` and ``long_name``, and
        ``log.tarsus`` has derived quantities, a report and plots.

    Raises
    ------
    InvalidFile
        If the file does not exist, cannot be read, or is not a log.

    Examples
    --------
    >>> import tarsus
    >>> simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    >>> simulation.run(0.01).to_netcdf("stand.nc")
    >>> log = tarsus.open_log("stand.nc")
    >>> log.sizes["time"]
    4
    """
    log = read_log(Path(path))
    check_log(log)
    return log
