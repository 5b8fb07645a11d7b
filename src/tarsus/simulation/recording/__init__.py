"""Record runs: the log, quantities derived from it, its summary, and where it diverged."""
