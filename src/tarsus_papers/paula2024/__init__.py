"""Reproduction of Teixeira de Paula 2024: Mini Cheetah on compliant ground and in MuJoCo."""

from __future__ import annotations

from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus_papers.base import Experiment
from tarsus_papers.paula2024.euler import Euler
from tarsus_papers.paula2024.forces import Forces
from tarsus_papers.paula2024.friction import Friction
from tarsus_papers.paula2024.laws import Laws
from tarsus_papers.paula2024.table1 import SettingsTable
from tarsus_papers.paula2024.terms import DynamicTerms
from tarsus_papers.paula2024.timing import Timing
from tarsus_papers.paula2024.trunk import Trunk

EXPERIMENT = Experiment(
    title="Mini Cheetah on compliant ground and in MuJoCo: the comparison of 2024, measured again",
    paper=TEIXEIRA_DE_PAULA_2024,
    description=(
        "The paper runs Mini Cheetah with an open-loop trot in its own simulator, which has Hertz"
        " contact with smooth friction, and in MuJoCo. It compares the motion of the trunk and the"
        " foot forces. Here Tarsus replaces the paper's simulator. The paper gives neither its gait"
        " nor MuJoCo's impedance, so results that depend on them cannot agree exactly; each check"
        " states what must agree."
    ),
    parts=(
        SettingsTable(),
        Trunk(),
        Forces(),
        Timing(),
        Friction(),
        Euler(),
        DynamicTerms(),
        Laws(),
    ),
)
