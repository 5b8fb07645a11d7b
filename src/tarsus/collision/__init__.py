"""Where a mechanism may touch the ground or itself: gaps, contact frames and Jacobian rows.

This package knows mechanisms and terrain, and no contact law. It proceeds as collision detection
does everywhere: a broad phase excludes what is provably apart, a narrow phase finds the closest
points of what is near, and a contact table lets compiled code address any contact by its number.
"""
