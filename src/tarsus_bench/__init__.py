"""Benchmarks: speed compared with MuJoCo and others; settings are printed with the figures."""
