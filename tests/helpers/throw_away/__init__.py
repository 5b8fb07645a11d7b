"""One new file of each kind, for the contract test that adds them to a copy of the package.

KINDS names the folder of the package that each one goes to; there it is called throw_away.py.
"""

KINDS = {
    "robots": "robots",
    "laws": "contact/laws",
    "solvers": "contact/solvers",
    "steppers": "stepping/methods",
    "terrains": "terrain",
    "gaits": "control/gaits",
    "sensors": "sensing",
    "scenes": "validation/scenes",
    "experiments": "experiments",
    "commands": "commands",
    "peers": "benchmarks/peers",
}
