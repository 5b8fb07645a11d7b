"""Declare parameters once: default, unit, meaning, range, symbol and role in one line each.

    mu: Value = friction(0.8, "friction coefficient of a contact that sticks", symbol="mu_S")
    kinetic: Value = kinetic_ratio(1.0)
    v_0: Value = parameter(1e-2, "m/s", "slip speed up to which a contact sticks", "[0, inf)")
    solver: Literal["sor", "jor"] = choice("sor", "iteration", sor="in turn", jor="all at once")

Each declaration makes a field of a frozen dataclass. Checks (`check`), look-up by role instead of
by name (`names_with_role`, `roles`), and the tables of `tarsus list ... --parameters` and of the
docs (`table`, `markdown`) follow from the declarations.
"""

from __future__ import annotations

from tarsus.parameters.declare import (
    Parameter,
    Role,
    Value,
    absolute_tolerance,
    array,
    check,
    check_all_declared,
    choice,
    component,
    damping,
    declared_fields,
    friction,
    kinetic_friction,
    kinetic_ratio,
    name_of,
    names_with_role,
    parameter,
    relative_tolerance,
    restitution,
    roles,
    stiffness,
    weight,
)
from tarsus.parameters.tables import COLUMNS, ParameterRow, markdown, table

__all__ = [
    "COLUMNS",
    "Parameter",
    "ParameterRow",
    "Role",
    "Value",
    "absolute_tolerance",
    "array",
    "check",
    "check_all_declared",
    "choice",
    "component",
    "damping",
    "declared_fields",
    "friction",
    "kinetic_friction",
    "kinetic_ratio",
    "markdown",
    "name_of",
    "names_with_role",
    "parameter",
    "relative_tolerance",
    "restitution",
    "roles",
    "stiffness",
    "table",
    "weight",
]
