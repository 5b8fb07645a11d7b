"""Collision detection: gaps, contact frames and Jacobian rows of a mechanism over its terrain.

This package knows mechanisms and terrain, and no contact law. A broad phase excludes what cannot
touch, a narrow phase finds the closest points of the rest, and a contact table lets compiled code
address any contact by its number.
"""
