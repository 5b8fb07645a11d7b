"""Scenes with a known outcome, and how well every contact law and stepper meets it."""
