"""Closest points, in one file for each pair of shapes; `solids` selects the file for two solids."""
