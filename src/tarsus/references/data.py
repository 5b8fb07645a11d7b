"""Sources of the robots' data: repositories, of which only numbers are used, and Tarsus itself."""

from __future__ import annotations

from tarsus.references.reference import Reference

GITHUB = "https://github.com"

TARSUS = Reference(
    "Tarsus",
    "misc",
    ("The Tarsus founders",),
    "Tarsus: legged robots in contact with the ground",
    "2026",
    {"note": "Version 0.1.0"},
)
CHEETAH_SOFTWARE = Reference(
    "Cheetah-Software",
    "misc",
    ("MIT Biomimetic Robotics Lab",),
    "Cheetah-Software",
    "n.d.",
    {"url": f"{GITHUB}/mit-biomimetics/Cheetah-Software", "note": "Commit c71c5a1"},
)
SIMBENCHMARK = Reference(
    "SimBenchmark",
    "misc",
    ("Kang, Dongho", "Hwangbo, Jemin"),
    "SimBenchmark: physics engine benchmark for robotics applications",
    "n.d.",
    {"url": f"{GITHUB}/leggedrobotics/SimBenchmark", "note": "Commit 3fd1764"},
)
HYQ_DESCRIPTION = Reference(
    "hyq-description",
    "misc",
    ("Istituto Italiano di Tecnologia",),
    "hyq-description",
    "n.d.",
    {"note": "As in the package example-robot-data 6.0.0"},
)
STARLETH_RBS = Reference(
    "starlETH.rbs",
    "misc",
    ("plusminus34",),
    "Interactive thin shells, bachelor thesis: starlETH.rbs",
    "n.d.",
    {
        "url": f"{GITHUB}/plusminus34/Interactive_thin_shells_Bachelor_thesis",
        "note": "Commit 3aafd3f",
    },
)
STARLETH_CAD = Reference(
    "CollisionDetectionStarlETH",
    "misc",
    ("Augustyn, Tomasz",),
    "CollisionDetectionStarlETH",
    "n.d.",
    {"url": f"{GITHUB}/TomaszAugustyn/CollisionDetectionStarlETH", "note": "Commit 54b0348"},
)
HOAP2_WEBOTS = Reference(
    "Hoap2.proto",
    "misc",
    ("Cyberbotics",),
    "Webots: Hoap2.proto",
    "n.d.",
    {"url": f"{GITHUB}/cyberbotics/webots", "note": "Commit 013d935"},
)
HOAP3_DESCRIPTION = Reference(
    "hoap3-description",
    "misc",
    ("CHILI Laboratory of EPFL",),
    "hoap3 description",
    "n.d.",
    {"url": f"{GITHUB}/chili-epfl/hoap3_description"},
)
