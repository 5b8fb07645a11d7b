"""MuJoCo as a peer: the same robot and gait run and recorded there, for comparisons and
benchmarks.
"""
