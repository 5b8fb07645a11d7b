"""From expressions to an ordered list of operations: what is computed when, and what waits in
memory.
"""
