"""Environments for reinforcement learning: many worlds that step, score and reset in one call."""
