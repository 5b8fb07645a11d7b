"""How policies are learned, one method a file."""

KIND = "learners"
