"""Outcomes that a sweep measures in every world, one per file; `base` explains how to add one."""

KIND = "outcomes"
