"""Compute the attitude of the trunk from a log of any engine."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.errors import Unsupported
from tarsus.spatial.quaternion import zyx_angles

ANGLES = ("yaw", "pitch", "roll")


def has_floating_base(log: xr.Dataset) -> bool:
    """Return whether a log is that of a robot with a floating base."""
    names = [str(name) for name in log["coordinate"].values[:7]]
    return [name.rpartition(".")[2] for name in names] == ["x", "y", "z", "qw", "qx", "qy", "qz"]


def trunk_angles(log: xr.Dataset) -> xr.DataArray:
    """Compute the ZYX Euler angles of a floating trunk after every step.

    The trunk is turned by yaw about z, then by pitch about the new y, then by roll about the new x.
    Yaw and roll are unwrapped. Pitch is in [-pi/2, pi/2]; at its ends yaw and roll are not defined.

    Parameters
    ----------
    log : xarray.Dataset
        Log of `Simulation.run`, or of a run on MuJoCo.

    Returns
    -------
    xarray.DataArray
        Angles in rad, dimensions (time, angle) or (time, world, angle).

    Raises
    ------
    Unsupported
        If the base of the robot is fixed.

    References
    ----------
    Teixeira de Paula 2024, section 6.1.

    Examples
    --------
    >>> import tarsus
    >>> log = tarsus.Simulation("mini_cheetah", controller="trot").run(0.1)
    >>> angles = tarsus.trunk_angles(log)
    >>> angles["angle"].values.tolist()
    ['yaw', 'pitch', 'roll']
    >>> bool(abs(angles).max() < 0.1)
    True
    """
    if not has_floating_base(log):
        raise Unsupported("a robot with a fixed base has no attitude.", "attitude")
    # use the base of the uncut robot
    q = log["q_uncut" if "q_uncut" in log else "q"]
    angles = zyx_angles(q.values[..., 3:7])
    angles[..., [0, 2]] = np.unwrap(angles[..., [0, 2]], axis=0)
    return xr.DataArray(
        angles,
        dims=(*q.dims[:-1], "angle"),
        coords={"time": log["time"], "angle": list(ANGLES)},
        attrs={"units": "rad", "long_name": "ZYX Euler angles of the trunk"},
    )
