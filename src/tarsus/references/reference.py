"""A reference, a place in it, and its BibTeX entry."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

# what BibTeX writes for a letter with an accent: the combining mark -> TeX's command
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"'}
LETTERS = {"ø": "{\\o}", "Ø": "{\\O}", "ß": "{\\ss}", "&": "\\&", "_": "\\_"}


@dataclass(frozen=True, eq=False)
class Reference:
    """A publication, a piece of software or a data set.

    name: as prose calls it, author and year
    kind: BibTeX's type of entry: article, inproceedings, book, ...
    authors: "family name, given names", or one name without a comma for a group
    title: as printed
    year: of publication; "n.d." if it is not dated
    details: BibTeX's other fields in the order in which prose says them: journal, pages, ...
    """

    name: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: str
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """BibTeX's key: the name in lower case, letters and digits alone."""
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode()
        return re.sub(r"[^a-z0-9]", "", plain.lower())

    def at(self, where: str = "") -> Cited:
        """A place in it, such as "Eqns. (2)-(18)"; the whole of it by default."""
        return Cited(self, where)

    def text(self) -> str:
        """One line: authors, title, where it was published, year."""
        authors = ", ".join(_initials(author) for author in self.authors)
        said = [_said(name, value) for name, value in self.details.items()]
        ended = ", ".join([*said, self.year]).rstrip(".")
        return f"{authors}: {self.title}. {ended}."

    def bibtex(self) -> str:
        """Its BibTeX entry, accents written in TeX."""
        authors = " and ".join(a if "," in a else f"{{{a}}}" for a in self.authors)
        fields = {"author": authors, "title": f"{{{self.title}}}", **self.details}
        rows = [
            f"  {name} = {{{value if name in ('doi', 'url') else _tex(value)}}},"
            for name, value in {**fields, "year": self.year}.items()
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *rows, "}"])


@dataclass(frozen=True, eq=False)
class Cited:
    """A place in a reference.

    where: equations, section, table or pages; empty for the whole of it
    """

    reference: Reference
    where: str = ""

    def text(self) -> str:
        """As prose says it: "Gehring 2014, Eqns. (2)-(18)"."""
        return f"{self.reference.name}, {self.where}" if self.where else self.reference.name


# What something is built on: places in publications, or words for what was not published
Citation = tuple[Cited, ...] | str


def text(citation: Citation) -> str:
    """A citation in one line."""
    if isinstance(citation, str):
        return citation
    return "; ".join(cited.text() for cited in citation)


def _initials(author: str) -> str:
    """ "Gehring, Christian" as "C. Gehring"."""
    family, comma, given = author.partition(", ")
    if not comma:
        return author
    parts = [part if part.endswith(".") else f"{part[0]}." for part in given.split()]
    return " ".join([*parts, family])


def _said(name: str, value: str) -> str:
    """A field of BibTeX as prose says it."""
    value = value.replace("--", "-")
    if name == "number" and value.isdigit():
        return f"no. {value}"
    return {"pages": f"pp. {value}", "volume": f"vol. {value}", "doi": f"doi:{value}"}.get(
        name, value
    )


def _tex(words: str) -> str:
    """Words with TeX's commands for letters outside ASCII."""
    written = []
    for letter in words:
        base, *mark = unicodedata.normalize("NFD", letter)
        if letter in LETTERS:
            written.append(LETTERS[letter])
        elif mark and mark[0] in ACCENTS:
            written.append(f"{{\\{ACCENTS[mark[0]]}{base}}}")
        else:
            written.append(letter)
    return "".join(written)
