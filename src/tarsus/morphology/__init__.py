"""Shape of a robot: its feet, its legs, and a posture to stand in."""
