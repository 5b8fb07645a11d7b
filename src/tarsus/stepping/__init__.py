"""Steppers, and the one file where mechanics and contact laws meet."""
