"""Options that choose MuJoCo's settings in a comparison, shared by commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from tarsus.commands.base import ArgumentCheck, Group, Settings, argument, collect_settings

if TYPE_CHECKING:
    from tarsus.mujoco_runs.settings import SettingsSelection


def _check(names: str) -> None:
    """Raise TarsusError for unknown names of settings."""
    from tarsus.mujoco_runs.settings import parse_names

    parse_names(names)


SettingNames = Annotated[str | None, argument("NAME,..."), ArgumentCheck(_check)]
"""Names of MuJoCo settings separated by commas, or "all"; None for the command's default."""


@dataclass(frozen=True)
class MujocoFlags(Group):
    """Options for MuJoCo's settings in a comparison (docs/contact_truth.md)."""

    mujoco: SettingNames = None
    """MuJoCo settings to compare: default (MuJoCo's own), tuned (as MuJoCo's tuning guide
    recommends), discrete (tuned, with the newer integrator), or all. (default: default,tuned)"""
    mujoco_set: Settings = ()
    """Compare also these settings, applied to MuJoCo's defaults, such as solref=0.005,1
    impratio=100 integrator=implicitfast."""

    def check(self) -> None:
        """Raise TarsusError for a setting that MuJoCo does not have."""
        if self.mujoco is not None or self.mujoco_set:
            self.selection.custom_settings()

    @property
    def selection(self) -> SettingsSelection:
        """Selected settings."""
        from tarsus.mujoco_runs.settings import SHOWN, SettingsSelection, parse_names

        names = SHOWN if self.mujoco is None else parse_names(self.mujoco)
        return SettingsSelection(names, tuple(collect_settings(self.mujoco_set)))


Mujoco = Annotated[MujocoFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="MuJoCo")]
