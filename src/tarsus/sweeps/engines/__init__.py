"""Engines that run the chunks of a sweep, one per file; `base` explains how to add one."""

KIND = "sweep_engines"
