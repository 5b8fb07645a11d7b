"""Plots, images, videos and browser pages of runs."""
