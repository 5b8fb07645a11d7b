"""Sweeps: thousands of simulations that survive a kill, their outcomes in one table."""
