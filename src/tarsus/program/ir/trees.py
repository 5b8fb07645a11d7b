"""Nested structures of expressions: lists, tuples, dictionaries and dataclasses of SX.

The entries of a structure are those of its expressions without structural zeros. A constant entry
is part of the structure; `variable_entries` returns the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import casadi as ca
from casadi import SX

from tarsus.program.ir.symbolic import entries

Tree = TypeVar("Tree")


def tree_map(change: Callable[[SX], SX], tree: Any) -> Any:
    """Apply `change` to every SX of a structure; other objects stay as they are."""
    if isinstance(tree, SX):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(change, item) for item in tree)
    if isinstance(tree, dict):
        return {key: tree_map(change, item) for key, item in tree.items()}
    if is_dataclass(tree) and not isinstance(tree, type):
        items = {f.name: getattr(tree, f.name) for f in fields(tree) if f.init}
        new = {n: tree_map(change, item) for n, item in items.items() if has_expression(item)}
        return replace(tree, **new) if new else tree
    return tree


def has_expression(tree: Any) -> bool:
    """Return whether a structure contains an SX."""
    if isinstance(tree, dict):
        return any(has_expression(item) for item in tree.values())
    if isinstance(tree, list | tuple):
        return any(has_expression(item) for item in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return any(has_expression(getattr(tree, f.name)) for f in fields(tree) if f.init)
    return isinstance(tree, SX)


def variable_entries(tree: Any, is_fixed: Callable[[SX], bool] = SX.is_constant) -> list[SX]:
    """Collect the entries of a structure that are not fixed; by default those not constant."""
    values: list[SX] = []

    def collect(value: SX) -> SX:
        values.extend(entry for entry in nonzeros(value) if not is_fixed(entry))
        return value

    tree_map(collect, tree)
    return values


def with_entries(
    tree: Tree, values: list[SX], is_fixed: Callable[[SX], bool] = SX.is_constant
) -> Tree:
    """Replace the `variable_entries` of a structure by `values`."""
    remaining = iter(values)

    def put(value: SX) -> SX:
        items = [entry if is_fixed(entry) else next(remaining) for entry in nonzeros(value)]
        return SX(value.sparsity(), ca.vertcat(SX(0, 1), *items))

    return tree_map(put, tree)


def have_same_structure(trees: Sequence[Any]) -> bool:
    """Return whether structures differ in variable entries only, and have some."""
    shapes = [_describe_structure(tree) for tree in trees]
    has_variables = bool(shapes) and any(None in row for row in shapes[0])
    return has_variables and shapes.count(shapes[0]) == len(shapes)


def _describe_structure(tree: Any) -> list[list[float | None]]:
    """Describe shape, sparsity and constant entries of every expression; None if variable."""
    rows: list[list[float | None]] = []

    def collect(value: SX) -> SX:
        items = [float(entry) if entry.is_constant() else None for entry in nonzeros(value)]
        rows.append([*value.shape, *value.sparsity().find(), *items])
        return value

    tree_map(collect, tree)
    return rows


def nonzeros(value: SX) -> list[SX]:
    """List the entries of an expression without structural zeros."""
    return entries(cast(SX, value.nz[:]))
