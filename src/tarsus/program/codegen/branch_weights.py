"""Branch weights and loop metadata for LLVM: which loops and branches are cold.

Without them LLVM assumes that every loop runs many iterations. It then keeps values of the loop in
registers, and spills those of the hot straight-line code around it.
"""

from __future__ import annotations

from tarsus.program.ir.blocks import While

NO_LICM = ("!0 = distinct !{!0, !1}", '!1 = !{!"llvm.licm.disable"}')  # no loop-invariant motion
COLD, RARE_LOOP, LOOP = 2, 3, 4  # numbers of metadata
MAX_RARE_ITERATIONS = 2  # of a loop that most worlds do not enter
METADATA = tuple(
    f'!{number} = !{{!"branch_weights", i32 1, i32 {against}}}'
    for number, against in ((COLD, 4000), (RARE_LOOP, 20), (LOOP, 1))
)


def loop_weights(block: While) -> str:
    """Compute the weights of the branch into a loop's next iteration."""
    rare = block.max_iterations <= MAX_RARE_ITERATIONS
    return f", !prof !{RARE_LOOP if rare else LOOP}"
