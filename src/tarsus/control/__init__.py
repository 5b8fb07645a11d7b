"""Controllers: gaits, foot paths, joint servos, force distribution."""
