"""Compiled programs at work: the processor, threads, GPUs, and the cache of compiled code."""
