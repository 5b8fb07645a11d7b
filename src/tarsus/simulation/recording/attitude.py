"""The attitude of the trunk in angles, of a log of any engine."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.errors import Unsupported
from tarsus.spatial.quaternion import zyx_angles

ANGLES = ("yaw", "pitch", "roll")


def has_floating_base(log: xr.Dataset) -> bool:
    """Whether the log is that of a robot with a floating base."""
    names = [str(name) for name in log["coordinate"].values[:7]]
    return [name.rpartition(".")[2] for name in names] == ["x", "y", "z", "qw", "qx", "qy", "qz"]


def trunk_angles(log: xr.Dataset) -> xr.DataArray:
    """ZYX Euler angles of a floating trunk after every step, (time, angle), or with `world`, rad.

    log: of `Simulation.run`, or of a run on MuJoCo
    Turned by yaw about z, then by pitch about the new y, then by roll about the new x (Teixeira de
    Paula 2024, section 6.1). Yaw and roll have no jumps by 2 pi; the pitch is in [-pi/2, pi/2], and
    at its ends yaw and roll are not defined. TarsusError for a robot whose base is fixed.
    """
    if not has_floating_base(log):
        raise Unsupported("a robot with a fixed base has no attitude.", "attitude")
    # the base before joints were cut
    q = log["q_uncut" if "q_uncut" in log else "q"]
    angles = zyx_angles(q.values[..., 3:7])
    angles[..., [0, 2]] = np.unwrap(angles[..., [0, 2]], axis=0)
    return xr.DataArray(
        angles,
        dims=(*q.dims[:-1], "angle"),
        coords={"time": log["time"], "angle": list(ANGLES)},
        attrs={"units": "rad", "long_name": "ZYX Euler angles of the trunk"},
    )
