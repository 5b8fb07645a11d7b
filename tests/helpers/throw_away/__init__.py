"""One new file of each kind, for the contract test that adds them to a copy of the packages.

KINDS names the folder of each; there the file is called throw_away.py.
"""

KINDS = {
    "robots": "tarsus/robots",
    "laws": "tarsus/contact/laws",
    "solvers": "tarsus/contact/solvers",
    "steppers": "tarsus/stepping/methods",
    "terrains": "tarsus/terrain",
    "gaits": "tarsus/control/gaits",
    "actuators": "tarsus/control/actuators",
    "sensors": "tarsus/sensing",
    "scenes": "tarsus/validation/scenes",
    "engines": "tarsus/engines",
    "experiments": "tarsus_papers",
    "commands": "tarsus/commands",
    "peers": "tarsus_bench/peers",
}
