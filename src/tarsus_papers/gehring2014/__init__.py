"""Reproduction of Gehring 2014: Moreau time stepping and compliant contact on StarlETH."""

from __future__ import annotations

from tarsus.references.papers import GEHRING_2014
from tarsus_papers.base import Experiment
from tarsus_papers.gehring2014.conclusions import Conclusions
from tarsus_papers.gehring2014.drift import Drift
from tarsus_papers.gehring2014.figure5 import Figure5
from tarsus_papers.gehring2014.figure6 import Figure6
from tarsus_papers.gehring2014.figure7 import Figure7
from tarsus_papers.gehring2014.joints import Joints
from tarsus_papers.gehring2014.push import Push
from tarsus_papers.gehring2014.scaling import Scaling
from tarsus_papers.gehring2014.sinkage import Sinkage
from tarsus_papers.gehring2014.table1 import Table1

EXPERIMENT = Experiment(
    title="StarlETH with hard and compliant contact: the evaluation of 2014 repeated",
    paper=GEHRING_2014,
    description=(
        "The paper compares hard contact, solved by projected Jacobi (JOR) and Gauss-Seidel"
        " (SOR) iterations, with spring-damper contact, on a quadruped robot that stands and trots."
        " Every number in the paper is shown next to the one measured with Tarsus. References to"
        " the paper give the table, figure or section."
    ),
    parts=(
        Figure6(),
        Table1(),
        Figure7(),
        Figure5(),
        Drift(),
        Joints(),
        Sinkage(),
        Push(),
        Scaling(),
        Conclusions(),
    ),
)
