"""What is kept of a run: the log, what is derived from it, its summary, and where it diverged."""
