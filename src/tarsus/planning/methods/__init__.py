"""Sampling methods of a planner, one per file."""

KIND = "planners"
