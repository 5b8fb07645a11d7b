"""Reproduction of Rengifo 2009: ground that imposes accelerations on a ball, a brick, a biped."""

from __future__ import annotations

from tarsus.references.papers import RENGIFO_2009
from tarsus_papers.base import Experiment
from tarsus_papers.rengifo2009.ball import BallLanding
from tarsus_papers.rengifo2009.brick import SlidingBrick
from tarsus_papers.rengifo2009.conclusions import PaperStatements
from tarsus_papers.rengifo2009.false_impacts import FalseImpacts
from tarsus_papers.rengifo2009.five_steps import FiveSteps
from tarsus_papers.rengifo2009.other_grounds import OtherGrounds
from tarsus_papers.rengifo2009.rest import SteadyDepth
from tarsus_papers.rengifo2009.restitution import RestitutionCurve
from tarsus_papers.rengifo2009.same_gains import SameGains

EXPERIMENT = Experiment(
    title="The ground imposes accelerations: ball, brick and walking biped, measured again",
    paper=RENGIFO_2009,
    description=(
        "In the paper, the ground imposes accelerations on the contacts, and the forces are solved"
        " for. The gains k_p and k_v do not depend on masses, and saturations replace a velocity"
        " threshold of friction. The paper shows curves of a ball, a brick on a ramp and five steps"
        " of a biped; the only numbers are gains and ε. Masses, sizes, gait, controller, friction"
        " coefficient, integrator and step are not stated; each part lists the values used here."
        " Results are compared with closed forms where these exist."
    ),
    parts=(
        BallLanding(),
        RestitutionCurve(),
        SteadyDepth(),
        SlidingBrick(),
        FalseImpacts(),
        FiveSteps(),
        SameGains(),
        OtherGrounds(),
        PaperStatements(),
    ),
)
