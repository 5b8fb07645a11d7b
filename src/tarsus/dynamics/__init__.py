"""Rigid-body dynamics as symbolic expressions, one published algorithm a file."""
