"""What is kept of a run: the log, what can be derived from it, its summary, and where it
diverged.
"""
