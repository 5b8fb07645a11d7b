"""Model predictive control by sampling: many futures of the robot as it stands, in one call."""
