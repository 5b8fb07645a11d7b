"""Run compiled programs: CPU, threads, GPUs, and the cache of compiled code."""
