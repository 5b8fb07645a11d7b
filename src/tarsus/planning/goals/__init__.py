"""Goals of a planner, one per file."""

KIND = "goals"
