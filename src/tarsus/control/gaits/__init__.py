"""Gaits, one a file."""
