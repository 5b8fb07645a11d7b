"""Learning methods, one per file."""

KIND = "learners"
