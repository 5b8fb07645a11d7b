"""General numerical and statistical methods."""

from __future__ import annotations

from tarsus.references.reference import Reference

BARZILAI_1988 = Reference(
    "Barzilai and Borwein 1988",
    "article",
    ("Barzilai, Jonathan", "Borwein, Jonathan M."),
    "Two-point step size gradient methods",
    "1988",
    {"journal": "IMA Journal of Numerical Analysis", "volume": "8", "pages": "141--148"},
)
BELADY_1966 = Reference(
    "Belady 1966",
    "article",
    ("Belady, L. A.",),
    "A study of replacement algorithms for a virtual-storage computer",
    "1966",
    {"journal": "IBM Systems Journal", "volume": "5", "number": "2"},
)
CURTIS_1974 = Reference(
    "Curtis 1974",
    "article",
    ("Curtis, A. R.", "Powell, M. J. D.", "Reid, J. K."),
    "On the estimation of sparse Jacobian matrices",
    "1974",
    {
        "journal": "Journal of the Institute of Mathematics and its Applications",
        "volume": "13",
        "pages": "117--119",
    },
)
GEYER_1992 = Reference(
    "Geyer 1992",
    "article",
    ("Geyer, Charles J.",),
    "Practical Markov chain Monte Carlo",
    "1992",
    {"journal": "Statistical Science", "volume": "7", "number": "4", "pages": "473--483"},
)
WILSON_1927 = Reference(
    "Wilson 1927",
    "article",
    ("Wilson, Edwin B.",),
    "Probable inference, the law of succession, and statistical inference",
    "1927",
    {
        "journal": "Journal of the American Statistical Association",
        "volume": "22",
        "pages": "209--212",
    },
)
