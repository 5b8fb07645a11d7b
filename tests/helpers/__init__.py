"""Helpers that several tests share: oracles, bodies, random mechanisms."""
