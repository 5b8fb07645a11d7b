"""What a learner is asked to do: what it sees, what it is paid for, and when it has failed."""

KIND = "tasks"
