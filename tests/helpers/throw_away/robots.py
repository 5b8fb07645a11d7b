"""Temporary robot: a trunk on one leg with a round foot."""

from __future__ import annotations

import numpy as np

from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, Mechanism
from tarsus.references.reference import Citation, Reference

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")
CITATION: Citation = (NOBODY.at("all numbers"),)


def describe() -> Mechanism:
    """Two bodies, seven degrees of freedom, one motor, 2 kg."""
    hip = Joint("hip", "hinge", axis=np.array([0.0, 1.0, 0.0]), lower=-1.0, upper=1.0)
    trunk = Body("trunk", -1, Joint("base", "free"), Inertia(1.5, np.zeros(3), 0.02 * np.eye(3)))
    leg = Body("leg", 0, hip, Inertia(0.5, np.array([0.0, 0.0, -0.1]), 0.002 * np.eye(3)))
    stand = np.array([0.0, 0.0, 0.22, 1.0, 0.0, 0.0, 0.0, 0.0])
    return Mechanism(
        name="throw_away",
        bodies=(trunk, leg),
        candidates=(Candidate("foot", 1, np.array([0.0, 0.0, -0.2]), 0.02),),
        actuators=(Actuator("hip", "hip"),),
        keyframes={"stand": stand},
    )
