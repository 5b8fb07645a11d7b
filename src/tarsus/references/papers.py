"""Papers: first the five that Tarsus started from, then the others in alphabetical order."""

from __future__ import annotations

from tarsus.references.reference import Reference

# --- the five papers that Tarsus started from
GEHRING_2014 = Reference(
    "Gehring 2014",
    "inproceedings",
    (
        "Gehring, Christian",
        "Diethelm, Remo",
        "Siegwart, Roland",
        "Nützi, Gabriel",
        "Leine, Remco I.",
    ),
    "An evaluation of Moreau's time-stepping scheme for the simulation of a legged robot",
    "2014",
    {"booktitle": "ASME IDETC/CIE", "number": "DETC2014-34374"},
)
SUGIHARA_2006 = Reference(
    "Sugihara 2006",
    "inproceedings",
    ("Sugihara, Tomomichi", "Nakamura, Yoshihiko"),
    "Balanced micro/macro contact model for forward dynamics of rigid multibody",
    "2006",
    {
        "booktitle": "IEEE International Conference on Robotics and Automation",
        "pages": "1880--1885",
    },
)
RENGIFO_2009 = Reference(
    "Rengifo 2009",
    "inproceedings",
    ("Rengifo, Carlos", "Aoustin, Yannick", "Chevallereau, Christine", "Plestan, Franck"),
    "A penalty-based approach for contact forces computation in bipedal robots",
    "2009",
    {
        "booktitle": "9th IEEE-RAS International Conference on Humanoid Robots",
        "pages": "121--127",
        "doi": "10.1109/ICHR.2009.5379590",
    },
)
TEIXEIRA_DE_PAULA_2024 = Reference(
    "Teixeira de Paula 2024",
    "article",
    ("Teixeira de Paula, Daniel", "Godoy, Eduardo Paciencia", "Becerra-Vargas, Mauricio"),
    "Dynamic modeling and simulation of a torque-controlled spatial quadruped robot",
    "2024",
    {
        "journal": "Robotica",
        "volume": "42",
        "pages": "2761--2780",
        "doi": "10.1017/S0263574724001097",
    },
)
OGUNSOLA = Reference(
    "Ogunsola",
    "misc",
    ("Ogunsola, Bolutife",),
    "Rigid body contact force solver",
    "n.d.",
    {"howpublished": "Semester project, RSC"},
)

# --- the others
AI_2011 = Reference(
    "Ai et al. 2011",
    "article",
    ("Ai, Jun", "Chen, Jian-Fei", "Rotter, J. Michael", "Ooi, Jin Y."),
    "Assessment of rolling resistance models in discrete element simulations",
    "2011",
    {"journal": "Powder Technology", "volume": "206", "pages": "269--282"},
)
ALART_1991 = Reference(
    "Alart and Curnier 1991",
    "article",
    ("Alart, P.", "Curnier, A."),
    "A mixed formulation for frictional contact problems prone to Newton like solution methods",
    "1991",
    {
        "journal": "Computer Methods in Applied Mechanics and Engineering",
        "volume": "92",
        "pages": "353--375",
        "doi": "10.1016/0045-7825(91)90022-X",
    },
)
ARMSTRONG_1994 = Reference(
    "Armstrong-Helouvry 1994",
    "article",
    ("Armstrong-Hélouvry, Brian", "Dupont, Pierre", "Canudas de Wit, Carlos"),
    "A survey of models, analysis tools and compensation methods for the control of machines with"
    " friction",
    "1994",
    {"journal": "Automatica", "volume": "30", "number": "7", "pages": "1083--1138"},
)
BAUMGARTE_1972 = Reference(
    "Baumgarte 1972",
    "article",
    ("Baumgarte, J.",),
    "Stabilization of constraints and integrals of motion in dynamical systems",
    "1972",
    {"journal": "Computer Methods in Applied Mechanics and Engineering", "volume": "1"},
)
BITTENCOURT_2012 = Reference(
    "Bittencourt and Gunnarsson 2012",
    "article",
    ("Bittencourt, André Carvalho", "Gunnarsson, Svante"),
    "Static friction in a robot joint: modeling and identification of load and temperature effects",
    "2012",
    {
        "journal": "Journal of Dynamic Systems, Measurement, and Control",
        "volume": "134",
        "number": "5",
    },
)
CARPENTIER_2018 = Reference(
    "Carpentier 2018",
    "inproceedings",
    ("Carpentier, Justin", "Mansard, Nicolas"),
    "Analytical derivatives of rigid body dynamics algorithms",
    "2018",
    {"booktitle": "Robotics: Science and Systems", "doi": "10.15607/RSS.2018.XIV.038"},
)
CHIGNOLI_2024 = Reference(
    "Chignoli 2024",
    "misc",
    ("Chignoli, Matthew", "Slotine, Jean-Jacques", "Wensing, Patrick M.", "Kim, Sangbae"),
    "URDF+: an enhanced URDF for robots with kinematic loops",
    "2024",
    {"eprint": "2411.19753", "archiveprefix": "arXiv"},
)
DE_SAXCE_1998 = Reference(
    "De Saxcé and Feng 1998",
    "article",
    ("De Saxcé, G.", "Feng, Z.-Q."),
    "The bipotential method: a constructive approach to design the complete contact law with"
    " friction and improved numerical algorithms",
    "1998",
    {"journal": "Mathematical and Computer Modelling", "volume": "28", "pages": "225--245"},
)
DORMAND_1980 = Reference(
    "Dormand and Prince 1980",
    "article",
    ("Dormand, J. R.", "Prince, P. J."),
    "A family of embedded Runge-Kutta formulae",
    "1980",
    {"journal": "Journal of Computational and Applied Mathematics", "volume": "6"},
)
DOWELL_1971 = Reference(
    "Dowell and Jarratt 1971",
    "article",
    ("Dowell, M.", "Jarratt, P."),
    "A modified regula falsi method for computing the root of an equation",
    "1971",
    {"journal": "BIT", "volume": "11"},
)
ENGLSBERGER_2015 = Reference(
    "Englsberger 2015",
    "article",
    ("Englsberger, Johannes", "Ott, Christian", "Albu-Schäffer, Alin"),
    "Three-dimensional bipedal walking control based on divergent component of motion",
    "2015",
    {"journal": "IEEE Transactions on Robotics", "volume": "31", "pages": "355--368"},
)
GAUTIER_1990 = Reference(
    "Gautier and Khalil 1990",
    "article",
    ("Gautier, M.", "Khalil, W."),
    "Direct calculation of minimum set of inertial parameters of serial robots",
    "1990",
    {"journal": "IEEE Transactions on Robotics and Automation", "volume": "6", "number": "3"},
)
GEHRING_2013 = Reference(
    "Gehring 2013",
    "inproceedings",
    (
        "Gehring, Christian",
        "Coros, Stelian",
        "Hutter, Marco",
        "Bloesch, Michael",
        "Hoepflinger, Markus A.",
        "Siegwart, Roland",
    ),
    "Control of dynamic gaits for a quadrupedal robot",
    "2013",
    {"booktitle": "IEEE International Conference on Robotics and Automation"},
)
HOUSNER_1963 = Reference(
    "Housner 1963",
    "article",
    ("Housner, George W.",),
    "The behavior of inverted pendulum structures during earthquakes",
    "1963",
    {"journal": "Bulletin of the Seismological Society of America", "volume": "53"},
)
HUNT_1975 = Reference(
    "Hunt and Crossley 1975",
    "article",
    ("Hunt, K. H.", "Crossley, F. R. E."),
    "Coefficient of restitution interpreted as damping in vibroimpact",
    "1975",
    {"journal": "ASME Journal of Applied Mechanics", "volume": "42", "pages": "440--445"},
)
JUDICE_1994 = Reference(
    "Júdice and Pires 1994",
    "article",
    ("Júdice, Joaquim J.", "Pires, Fernanda M."),
    "A block principal pivoting algorithm for large-scale strictly monotone linear"
    " complementarity problems",
    "1994",
    {"journal": "Computers and Operations Research", "volume": "21"},
)
KAJITA_2001 = Reference(
    "Kajita 2001",
    "inproceedings",
    (
        "Kajita, Shuuji",
        "Kanehiro, Fumio",
        "Kaneko, Kenji",
        "Yokoi, Kazuhito",
        "Hirukawa, Hirohisa",
    ),
    "The 3D linear inverted pendulum mode: a simple modeling for a biped walking pattern"
    " generation",
    "2001",
    {"booktitle": "IEEE/RSJ International Conference on Intelligent Robots and Systems"},
)
KUTTA_1901 = Reference(
    "Kutta 1901",
    "article",
    ("Kutta, Wilhelm",),
    "Beitrag zur näherungsweisen Integration totaler Differentialgleichungen",
    "1901",
    {"journal": "Zeitschrift für Mathematik und Physik", "volume": "46"},
)
LEE_2007 = Reference(
    "Lee 2007",
    "inproceedings",
    ("Lee, Honglak", "Battle, Alexis", "Raina, Rajat", "Ng, Andrew Y."),
    "Efficient sparse coding algorithms",
    "2007",
    {"booktitle": "Advances in Neural Information Processing Systems 19"},
)
MCGEER_1990 = Reference(
    "McGeer 1990",
    "article",
    ("McGeer, Tad",),
    "Passive dynamic walking",
    "1990",
    {"journal": "International Journal of Robotics Research", "volume": "9"},
)
MOREAU_1988 = Reference(
    "Moreau 1988",
    "incollection",
    ("Moreau, Jean Jacques",),
    "Unilateral contact and dry friction in finite freedom dynamics",
    "1988",
    {
        "booktitle": "Nonsmooth Mechanics and Applications",
        "series": "CISM Courses and Lectures 302",
        "publisher": "Springer",
    },
)
MURTY_1974 = Reference(
    "Murty 1974",
    "article",
    ("Murty, Katta G.",),
    "Note on a Bard-type scheme for solving the complementarity problem",
    "1974",
    {"journal": "Opsearch", "volume": "11"},
)
NESTEROV_1997 = Reference(
    "Nesterov and Todd 1997",
    "article",
    ("Nesterov, Yu. E.", "Todd, M. J."),
    "Self-scaled barriers and interior-point methods for convex programming",
    "1997",
    {"journal": "Mathematics of Operations Research", "volume": "22", "pages": "1--42"},
)
NORDIN_2002 = Reference(
    "Nordin and Gutman 2002",
    "article",
    ("Nordin, Mattias", "Gutman, Per-Olof"),
    "Controlling mechanical systems with backlash: a survey",
    "2002",
    {"journal": "Automatica", "volume": "38", "number": "10"},
)
ORIN_2013 = Reference(
    "Orin 2013",
    "article",
    ("Orin, David E.", "Goswami, Ambarish", "Lee, Sung-Hee"),
    "Centroidal dynamics of a humanoid robot",
    "2013",
    {"journal": "Autonomous Robots", "volume": "35", "pages": "161--176"},
)
PFROMMER_2020 = Reference(
    "Pfrommer 2020",
    "inproceedings",
    ("Pfrommer, Samuel", "Halm, Mathew", "Posa, Michael"),
    "ContactNets: learning discontinuous contact dynamics with smooth, implicit representations",
    "2020",
    {"booktitle": "Conference on Robot Learning"},
)
PRATT_1995 = Reference(
    "Pratt and Williamson 1995",
    "inproceedings",
    ("Pratt, Gill A.", "Williamson, Matthew M."),
    "Series elastic actuators",
    "1995",
    {"booktitle": "IEEE/RSJ International Conference on Intelligent Robots and Systems"},
)
PRATT_2006 = Reference(
    "Pratt 2006",
    "inproceedings",
    ("Pratt, Jerry", "Carff, John", "Drakunov, Sergey", "Goswami, Ambarish"),
    "Capture point: a step toward humanoid push recovery",
    "2006",
    {
        "booktitle": "6th IEEE-RAS International Conference on Humanoid Robots",
        "pages": "200--207",
    },
)
QI_1993 = Reference(
    "Qi and Sun 1993",
    "article",
    ("Qi, Liqun", "Sun, Jie"),
    "A nonsmooth version of Newton's method",
    "1993",
    {"journal": "Mathematical Programming", "volume": "58"},
)
RUCKER_2022 = Reference(
    "Rucker 2022",
    "article",
    ("Rucker, Caleb", "Wensing, Patrick M."),
    "Smooth parameterization of rigid-body inertia",
    "2022",
    {"journal": "IEEE Robotics and Automation Letters", "volume": "7", "pages": "2771--2778"},
)
RYCKAERT_1977 = Reference(
    "Ryckaert 1977",
    "article",
    ("Ryckaert, Jean-Paul", "Ciccotti, Giovanni", "Berendsen, Herman J. C."),
    "Numerical integration of the Cartesian equations of motion of a system with constraints:"
    " molecular dynamics of n-alkanes",
    "1977",
    {"journal": "Journal of Computational Physics", "volume": "23"},
)
TODOROV_2014 = Reference(
    "Todorov 2014",
    "inproceedings",
    ("Todorov, Emanuel",),
    "Convex and analytically-invertible dynamics with contacts and constraints: Theory and"
    " implementation in MuJoCo",
    "2014",
    {
        "booktitle": "IEEE International Conference on Robotics and Automation",
        "pages": "6054--6061",
    },
)
WANG_2015 = Reference(
    "Wang and Kim 2015",
    "inproceedings",
    ("Wang, Albert", "Kim, Sangbae"),
    "Directional efficiency in geared transmissions: characterization of backdrivability towards"
    " improved proprioceptive control",
    "2015",
    {
        "booktitle": "IEEE International Conference on Robotics and Automation",
        "pages": "1055--1062",
    },
)
