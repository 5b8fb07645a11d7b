"""Algebra without robots or contacts: blocks, factorizations, projections on convex sets."""
