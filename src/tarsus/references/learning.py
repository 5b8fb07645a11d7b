"""Learning, and random numbers."""

from __future__ import annotations

from tarsus.references.reference import Reference

SCHULMAN_2017 = Reference(
    "Schulman 2017",
    "article",
    ("Schulman, John", "Wolski, Filip", "Dhariwal, Prafulla", "Radford, Alec", "Klimov, Oleg"),
    "Proximal policy optimization algorithms",
    "2017",
    {"journal": "arXiv preprint arXiv:1707.06347"},
)
WIDYNSKI_2017 = Reference(
    "Widynski 2017",
    "article",
    ("Widynski, Bernard",),
    "Middle square Weyl sequence RNG",
    "2017",
    {"journal": "arXiv preprint arXiv:1704.00358"},
)
