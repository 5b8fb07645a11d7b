"""The shape of a robot: its feet, its legs, a posture to stand in."""
