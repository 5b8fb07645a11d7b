"""Books and manuals."""

from __future__ import annotations

from tarsus.references.reference import Reference

FEATHERSTONE_2008 = Reference(
    "Featherstone 2008",
    "book",
    ("Featherstone, Roy",),
    "Rigid Body Dynamics Algorithms",
    "2008",
    {"publisher": "Springer"},
)
HAIRER_1993 = Reference(
    "Hairer 1993",
    "book",
    ("Hairer, Ernst", "Nørsett, Syvert P.", "Wanner, Gerhard"),
    "Solving Ordinary Differential Equations I",
    "1993",
    {"publisher": "Springer"},
)
HAIRER_2006 = Reference(
    "Hairer 2006",
    "book",
    ("Hairer, Ernst", "Lubich, Christian", "Wanner, Gerhard"),
    "Geometric Numerical Integration",
    "2006",
    {"publisher": "Springer"},
)
KAHAN_1993 = Reference(
    "Kahan 1993",
    "misc",
    ("Kahan, William",),
    "Unconventional numerical methods for trajectory calculations",
    "1993",
    {"note": "Lecture notes, Computer Science Division, University of California at Berkeley"},
)
MUJOCO = Reference(
    "MuJoCo documentation",
    "misc",
    ("Google DeepMind",),
    "MuJoCo documentation, chapters Computation and Modeling",
    "2026",
    {"url": "https://mujoco.readthedocs.io"},
)
NOCEDAL_2006 = Reference(
    "Nocedal and Wright 2006",
    "book",
    ("Nocedal, Jorge", "Wright, Stephen J."),
    "Numerical Optimization",
    "2006",
    {"publisher": "Springer"},
)
RAIBERT_1986 = Reference(
    "Raibert 1986",
    "book",
    ("Raibert, Marc H.",),
    "Legged Robots That Balance",
    "1986",
    {"publisher": "MIT Press"},
)
SICILIANO_2009 = Reference(
    "Siciliano 2009",
    "book",
    ("Siciliano, Bruno", "Sciavicco, Lorenzo", "Villani, Luigi", "Oriolo, Giuseppe"),
    "Robotics: Modelling, Planning and Control",
    "2009",
    {"publisher": "Springer"},
)
WINTER_2009 = Reference(
    "Winter 2009",
    "book",
    ("Winter, David A.",),
    "Biomechanics and Motor Control of Human Movement",
    "2009",
    {"publisher": "Wiley"},
)
