"""What a robot is shaped like: its feet, its legs, a posture it can stand in."""
