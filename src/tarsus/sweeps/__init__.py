"""Sweeps: thousands of simulations with their outcomes in one table; they can be resumed."""
