"""Methods for hard contact, one per file, found by the file's name; `_*.py` is shared by them."""

KIND = "solvers"
