"""Gaits, one a file."""

KIND = "gaits"
