"""What a planner is asked for, one goal a file."""

KIND = "goals"
