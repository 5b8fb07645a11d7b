"""Closest points: one file for each pair of shapes; `solids` says which applies."""
