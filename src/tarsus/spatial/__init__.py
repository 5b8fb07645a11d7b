"""Rotations and rigid-body inertia as symbolic expressions; constants stay constants to fold."""
