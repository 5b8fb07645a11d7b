"""What couples contacts: the Delassus matrix, and the same problem in velocities."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.contact.problem import Blocks, VelocityForm
from tarsus.program.ir.trace import Builder
from tarsus.stepping.coupling import Coupling, mass_products, velocity_change


def delassus(coupling: Coupling, builder: Builder, *, held: bool) -> Blocks:
    """G = W^T M^-1 W of all contacts, or with the constraints acting G - G_UB G_B^-1 G_BU."""
    entry = mass_products(coupling.factor, coupling.W_half)
    if held and coupling.constraints is not None:
        inner = coupling.constraints.factor
        taken = mass_products(
            inner, [inner.backward(list(column)) for column in zip(*coupling.G_BU, strict=True)]
        )
        loose, entry = entry, lambda r, c: loose(r, c) - taken(r, c)
    lower_places = [(r, c) for r in range(len(coupling.rows)) for c in range(r + 1)]
    # apart, bodies' blocks are zero
    values = builder.hold("G", [entry(r, c) for r, c in lower_places])
    places = {place: k for k, place in enumerate(lower_places)}
    n = len(coupling.rows) // 3

    def block(i: int, j: int) -> SX:
        at = [[(3 * i + k, 3 * j + m) for m in range(3)] for k in range(3)]
        return ca.vertcat(
            *(ca.horzcat(*(values[places[max(p), min(p)]] for p in row)) for row in at)
        )

    return {(i, j): block(i, j) for i in range(n) for j in range(n)}


def velocity_form(coupling: Coupling, builder: Builder) -> VelocityForm:
    """The same problem in velocities; with constraints, each direction brings their answer."""
    nu, columns = coupling.factor.size, []
    u_free, hold = coupling.u_free, coupling.constraints
    if hold is not None:
        answer = coupling.constraint_impulses([SX(0)] * len(coupling.rows))
        u_free = u_free + ca.vertcat(
            *velocity_change(coupling.factor, list(zip(hold.half, answer, strict=True)))
        )
    for k, row in enumerate(coupling.W_half):
        acting = [(row, SX(1))]
        if hold is not None:
            answer = hold.impulses([G_BU[k] for G_BU in coupling.G_BU])
            acting += zip(hold.half, answer, strict=True)
        columns += velocity_change(coupling.factor, acting)
    response = ca.reshape(ca.vertcat(*builder.hold("response", columns)), nu, len(coupling.rows))
    W = builder.hold("W", [entry for row in coupling.rows for entry in row])
    return VelocityForm(u_free, ca.reshape(ca.vertcat(*W), nu, len(coupling.rows)), response)
