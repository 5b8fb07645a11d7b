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
    about=(
        "The paper lets the ground impose the accelerations of its contacts and solves for the"
        " forces: gains k_p and k_v without masses in them, saturations instead of a friction"
        " threshold. It shows a ball, a brick on a ramp and five steps of a biped, as curves; the"
        " only numbers printed are gains and ε. Masses, sizes, gait, controller, friction,"
        " integrator and step are not stated; ours are listed in each part. What can be"
        " compared with a closed form, is."
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
