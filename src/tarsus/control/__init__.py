"""Controllers: gaits, foot trajectories, joint servos and force distribution."""
