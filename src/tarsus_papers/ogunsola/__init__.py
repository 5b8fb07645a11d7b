"""HyQ dropped: rigid contact forces by an LCP, impulses at contact gain (Ogunsola)."""

from __future__ import annotations

from tarsus.references.papers import OGUNSOLA
from tarsus_papers.base import Experiment
from tarsus_papers.ogunsola.impacts import ImpactsPart
from tarsus_papers.ogunsola.lcp import Lcp
from tarsus_papers.ogunsola.other_robots import OtherRobots
from tarsus_papers.ogunsola.scenarios import Scenario1, Scenario2
from tarsus_papers.ogunsola.scheme import Scheme
from tarsus_papers.ogunsola.steppers import Steppers

EXPERIMENT = Experiment(
    title="HyQ dropped on rigid ground: contact forces and impulsive forces, measured again",
    paper=OGUNSOLA,
    description=(
        "The paper models hard frictionless contact of HyQ's feet: contact forces from a linear"
        " complementarity problem (3), impulses where a foot lands (4), and a propagator over"
        " exchangeable steppers. It shows two drops as pictures and gives no number beyond their"
        " settings, so what is measured here is held against closed forms and against the"
        " equations themselves."
    ),
    parts=(
        Scenario1(),
        Scenario2(),
        Lcp(),
        ImpactsPart(),
        Steppers(),
        Scheme(),
        OtherRobots(),
    ),
)
