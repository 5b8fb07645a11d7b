"""Benchmarks: speed beside MuJoCo and other simulators; settings are printed with the figures."""
