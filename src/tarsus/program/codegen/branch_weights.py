"""What LLVM is told of loops and branches, as metadata.

Without it LLVM thinks that every loop runs many rounds, and lets values of the straight code around
it wait in memory so that those of what hardly ever runs need not.
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
    """Of the branch into a loop's next round."""
    return f", !prof !{CASE if block.maximum <= FEW else ROUND}"
