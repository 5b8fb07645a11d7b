"""Tabulate the declared fields of a class."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarsus.parameters.declare import Parameter, declared_fields


class ParameterRow(NamedTuple):
    """A declared field in words."""

    name: str
    default: str
    unit: str
    range: str
    meaning: str


COLUMNS = tuple(name.capitalize() for name in ParameterRow._fields)


def table(owner: type) -> list[ParameterRow]:
    """Tabulate the declared fields of a dataclass, one row each."""
    return [_row(declaration) for declaration in declared_fields(owner).values()]


def markdown(owner: type) -> list[str]:
    """Format the lines of the same table in Markdown, header first."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    for row in table(owner):
        name = f"`{row.name}`"
        lines.append((name, *(cell.replace("|", "\\|") for cell in row[1:])))
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _row(p: Parameter) -> ParameterRow:
    meaning = f"{p.symbol}: {p.meaning}" if p.symbol not in ("", p.name) else p.meaning
    if p.choices:
        words = "; ".join(f"{word}: {text}" for word, text in p.choices.items())
        return ParameterRow(p.name, str(p.default), "", "a word", f"{meaning}. {words}")
    return ParameterRow(
        p.name,
        _format_default(p.default),
        p.unit,
        p.range.format() if p.is_numeric else "",
        meaning,
    )


def _format_default(default: Any) -> str:
    """Format a default as a user would write it."""
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return ", ".join(_format_default(value) for value in default)
    return f"{default:g}" if isinstance(default, (int, float)) else str(default)
