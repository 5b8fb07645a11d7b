"""Here so that every test finds the helpers that stand next to this file."""
