"""How a planner improves its plan, one method a file."""

KIND = "planners"
