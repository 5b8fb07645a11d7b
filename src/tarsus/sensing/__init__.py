"""Sensors, one kind per file."""

KIND = "sensors"
