"""Learning, and random numbers."""

from __future__ import annotations

from tarsus.references.reference import Reference

HANSEN_2016 = Reference(
    "Hansen 2016",
    "article",
    ("Hansen, Nikolaus",),
    "The CMA evolution strategy: a tutorial",
    "2016",
    {"journal": "arXiv preprint arXiv:1604.00772"},
)
KINGMA_2015 = Reference(
    "Kingma 2015",
    "inproceedings",
    ("Kingma, Diederik P.", "Ba, Jimmy"),
    "Adam: a method for stochastic optimization",
    "2015",
    {"booktitle": "International Conference on Learning Representations"},
)
MANIA_2018 = Reference(
    "Mania 2018",
    "article",
    ("Mania, Horia", "Guy, Aurelia", "Recht, Benjamin"),
    "Simple random search provides a competitive approach to reinforcement learning",
    "2018",
    {"journal": "arXiv preprint arXiv:1803.07055"},
)
SCHULMAN_2016 = Reference(
    "Schulman 2016",
    "inproceedings",
    ("Schulman, John", "Moritz, Philipp", "Levine, Sergey", "Jordan, Michael", "Abbeel, Pieter"),
    "High-dimensional continuous control using generalized advantage estimation",
    "2016",
    {"booktitle": "International Conference on Learning Representations"},
)
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
