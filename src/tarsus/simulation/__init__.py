"""Tarsus."""
