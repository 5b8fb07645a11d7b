"""Speed measured against a peer in one process, settings printed with the figures."""
