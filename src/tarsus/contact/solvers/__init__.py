"""Methods for hard contact, one a file, found by its name; `_*.py` is what they share."""

KIND = "solvers"
