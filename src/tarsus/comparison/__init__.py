"""Comparison of runs: contact laws side by side, recorded runs, and reruns of logs."""
