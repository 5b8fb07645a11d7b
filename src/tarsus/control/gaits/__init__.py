"""Gaits, one per file."""

KIND = "gaits"
