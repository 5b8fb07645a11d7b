"""Branch weights, as metadata for LLVM: which loops and branches are cold.

Without them LLVM assumes that every loop runs many rounds. It then keeps values of the loop in
registers, and spills those of the hot straight code around it.
"""

from __future__ import annotations

from tarsus.program.ir.blocks import While

STAYING = ("!0 = distinct !{!0, !1}", '!1 = !{!"llvm.licm.disable"}')
COLD, CASE, ROUND = 2, 3, 4  # numbers of metadata
FEW = 2  # rounds, at most, of a loop that is a case: most worlds do not enter it
TOLD = tuple(
    f'!{number} = !{{!"branch_weights", i32 1, i32 {against}}}'
    for number, against in ((COLD, 4000), (CASE, 20), (ROUND, 1))
)


def of_loop(block: While) -> str:
    """Return the weights of the branch into a loop's next round."""
    return f", !prof !{CASE if block.maximum <= FEW else ROUND}"
