"""Terrains, one per file; the file's name is the terrain's name."""

KIND = "terrains"
