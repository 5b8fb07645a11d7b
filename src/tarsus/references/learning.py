"""Learning, sampling-based planning and random numbers."""

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
HOWELL_2022 = Reference(
    "Howell 2022",
    "article",
    (
        "Howell, Taylor",
        "Gileadi, Nimrod",
        "Tunyasuvunakool, Saran",
        "Zakka, Kevin",
        "Erez, Tom",
        "Tassa, Yuval",
    ),
    "Predictive sampling: real-time behaviour synthesis with MuJoCo",
    "2022",
    {"journal": "arXiv preprint arXiv:2212.00541"},
)
HWANGBO_2019 = Reference(
    "Hwangbo 2019",
    "article",
    (
        "Hwangbo, Jemin",
        "Lee, Joonho",
        "Dosovitskiy, Alexey",
        "Bellicoso, Dario",
        "Tsounis, Vassilios",
        "Koltun, Vladlen",
        "Hutter, Marco",
    ),
    "Learning agile and dynamic motor skills for legged robots",
    "2019",
    {"journal": "Science Robotics", "volume": "4", "number": "26"},
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
RUBINSTEIN_1999 = Reference(
    "Rubinstein 1999",
    "article",
    ("Rubinstein, Reuven Y.",),
    "The cross-entropy method for combinatorial and continuous optimization",
    "1999",
    {
        "journal": "Methodology and Computing in Applied Probability",
        "volume": "1",
        "pages": "127-190",
    },
)
RUDIN_2021 = Reference(
    "Rudin 2021",
    "inproceedings",
    ("Rudin, Nikita", "Hoeller, David", "Reist, Philipp", "Hutter, Marco"),
    "Learning to walk in minutes using massively parallel deep reinforcement learning",
    "2021",
    {"booktitle": "Conference on Robot Learning"},
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
WILLIAMS_2017 = Reference(
    "Williams 2017",
    "inproceedings",
    (
        "Williams, Grady",
        "Wagener, Nolan",
        "Goldfain, Brian",
        "Drews, Paul",
        "Rehg, James M.",
        "Boots, Byron",
        "Theodorou, Evangelos A.",
    ),
    "Information theoretic MPC for model-based reinforcement learning",
    "2017",
    {"booktitle": "IEEE International Conference on Robotics and Automation"},
)
