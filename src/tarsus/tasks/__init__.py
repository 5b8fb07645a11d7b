"""Learning tasks: observations, rewards, and when an episode has failed."""

KIND = "tasks"
