"""Scenes with a known outcome, and checks of every contact law and stepper against it."""
