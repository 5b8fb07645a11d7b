"""MuJoCo as a peer: the same robot and gait run and recorded, for comparisons and benchmarks."""
