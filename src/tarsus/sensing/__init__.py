"""Sensors, one kind a file."""

KIND = "sensors"
