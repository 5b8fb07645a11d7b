"""The flags that choose the settings at which MuJoCo is shown, shared by commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tarsus.commands.base import Checked, Group, Settings, called, each_setting

if TYPE_CHECKING:
    from tarsus.mujoco_runs.settings import ShownSettings


def _check(names: str) -> None:
    """TarsusError with near names for settings that have no name here."""
    from tarsus.mujoco_runs.settings import names_listed

    names_listed(names)


SettingNames = Annotated[str | None, called("NAME,..."), Checked(_check)]
"""Names of MuJoCo's settings with commas between them, or all; None for what a command shows."""


@dataclass(frozen=True)
class MujocoFlags(Group):
    """MuJoCo's settings in a comparison (docs/contact_truth.md)."""

    mujoco: SettingNames = None
    """MuJoCo's settings, one row each: default (its own), tuned (its tuning guide's), discrete
    (tuned with the newer integrator) or all; by default default,tuned."""
    mujoco_set: Settings = ()
    """Another row with settings of your own on top of MuJoCo's defaults: solref=0.005,1
    impratio=100 integrator=implicitfast."""

    def check(self) -> None:
        """TarsusError for a name or a setting that MuJoCo does not have."""
        if self.mujoco is not None or self.mujoco_set:
            self.shown.own_settings()

    @property
    def shown(self) -> ShownSettings:
        """The settings chosen."""
        from tarsus.mujoco_runs.settings import SHOWN, ShownSettings, names_listed

        names = SHOWN if self.mujoco is None else names_listed(self.mujoco)
        return ShownSettings(names, tuple(each_setting(self.mujoco_set)))


Mujoco = Annotated[MujocoFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="MuJoCo")]
