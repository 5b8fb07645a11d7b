"""Runs of a robot and its gait in MuJoCo, recorded for comparisons and benchmarks."""
