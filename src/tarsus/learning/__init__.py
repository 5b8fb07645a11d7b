"""Reinforcement learning: policies trained on tasks, stored in folders, played under any law."""
