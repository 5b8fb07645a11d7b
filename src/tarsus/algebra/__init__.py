"""Algebra that both wings share: products, blocks, a factorization, projections on convex sets."""
