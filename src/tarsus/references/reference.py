"""References, citations of a place in them, and their BibTeX entries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

# TeX commands of accents, by combining character
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"'}
LETTERS = {"ø": "{\\o}", "Ø": "{\\O}", "ß": "{\\ss}", "&": "\\&", "_": "\\_"}


@dataclass(frozen=True, eq=False)
class Reference:
    """Publication, piece of software or data set.

    Attributes
    ----------
    name
        Name in prose: author and year.
    kind
        Type of the BibTeX entry: article, inproceedings, book, ...
    authors
        "family name, given names", or one name without a comma for a group.
    title
        Title as printed.
    year
        Year of publication; "n.d." if it is not dated.
    details
        Other BibTeX fields, in the order in which prose lists them: journal, pages, ...
    """

    name: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: str
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """BibTeX key: the letters and digits of the name, in lower case."""
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode()
        return re.sub(r"[^a-z0-9]", "", plain.lower())

    def at(self, place: str = "") -> CitedPlace:
        """Cite a place, such as "Eqns. (2)-(18)", or the whole reference by default."""
        return CitedPlace(self, place)

    def text(self) -> str:
        """Format authors, title, publication and year in one line."""
        authors = ", ".join(_initials(author) for author in self.authors)
        details = [_prose(name, value) for name, value in self.details.items()]
        end = ", ".join([*details, self.year]).rstrip(".")
        return f"{authors}: {self.title}. {end}."

    def bibtex(self) -> str:
        """Format the BibTeX entry, with accents as TeX commands."""
        authors = " and ".join(a if "," in a else f"{{{a}}}" for a in self.authors)
        fields = {"author": authors, "title": f"{{{self.title}}}", **self.details}
        rows = [
            f"  {name} = {{{value if name in ('doi', 'url') else _tex(value)}}},"
            for name, value in {**fields, "year": self.year}.items()
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *rows, "}"])


@dataclass(frozen=True, eq=False)
class CitedPlace:
    """Place in a reference.

    Attributes
    ----------
    reference
        The reference.
    location
        Equations, section, table or pages; empty for the whole reference.
    """

    reference: Reference
    location: str = ""

    def text(self) -> str:
        """Format the citation for prose: "Gehring 2014, Eqns. (2)-(18)"."""
        return f"{self.reference.name}, {self.location}" if self.location else self.reference.name


# Source of something: places in publications, or a sentence for unpublished work
Citation = tuple[CitedPlace, ...] | str


def text(citation: Citation) -> str:
    """Format a citation in one line."""
    if isinstance(citation, str):
        return citation
    return "; ".join(cited.text() for cited in citation)


def _initials(author: str) -> str:
    """Convert "Gehring, Christian" to "C. Gehring"."""
    family, comma, given = author.partition(", ")
    if not comma:
        return author
    parts = [part if part.endswith(".") else f"{part[0]}." for part in given.split()]
    return " ".join([*parts, family])


def _prose(name: str, value: str) -> str:
    """Convert a BibTeX field to prose."""
    value = value.replace("--", "-")
    if name == "number" and value.isdigit():
        return f"no. {value}"
    return {"pages": f"pp. {value}", "volume": f"vol. {value}", "doi": f"doi:{value}"}.get(
        name, value
    )


def _tex(text: str) -> str:
    """Convert letters outside ASCII to TeX commands."""
    result = []
    for letter in text:
        base, *mark = unicodedata.normalize("NFD", letter)
        if letter in LETTERS:
            result.append(LETTERS[letter])
        elif mark and mark[0] in ACCENTS:
            result.append(f"{{\\{ACCENTS[mark[0]]}{base}}}")
        else:
            result.append(letter)
    return "".join(result)
