"""Micro/macro contact on HOAP-1: drop, standing, walking, falling, jumping (Sugihara 2006)."""

from __future__ import annotations

from tarsus.references.papers import SUGIHARA_2006
from tarsus_papers.base import Experiment
from tarsus_papers.sugihara2006.conclusions import Statements
from tarsus_papers.sugihara2006.cost import CycleTime
from tarsus_papers.sugihara2006.drop import Drop
from tarsus_papers.sugihara2006.fall import Falling
from tarsus_papers.sugihara2006.friction import StaticFriction
from tarsus_papers.sugihara2006.jump import Jumping
from tarsus_papers.sugihara2006.lambdas import Lambda
from tarsus_papers.sugihara2006.walk import Walking

EXPERIMENT = Experiment(
    title="HOAP-1 on springs and on a rigid floor under a membrane: the contact model of 2006",
    paper=SUGIHARA_2006,
    description=(
        "The paper puts a thin elastic membrane (micro model) on a rigid floor (macro model) and"
        " uses HOAP-1 to show the effect of its time-step dependent damper and its error norm. It"
        " prints only the mass, height and number of joints of the robot, and nothing about its"
        " controllers: those are our own, as are all rotor inertias. Verdicts follow numeric rules."
        " The rules on uneven forces and on the lambda at which the floor fails were written after"
        " first runs, the others before."
    ),
    parts=(
        Drop(),
        Lambda(),
        StaticFriction(),
        Walking(),
        Falling(),
        Jumping(),
        CycleTime(),
        Statements(),
    ),
)
