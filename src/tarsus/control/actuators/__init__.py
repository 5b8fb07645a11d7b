"""Models of real motors, one per file."""

KIND = "actuators"
