"""Sampling-based model predictive control: many rollouts of the robot in one compiled call."""
