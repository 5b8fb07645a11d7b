"""Benchmarks of speed in comparison with MuJoCo and other simulators."""
