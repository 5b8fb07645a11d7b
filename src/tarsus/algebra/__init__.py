"""Algebra that both wings share: factorizations and projections on convex sets."""
