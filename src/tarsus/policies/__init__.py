"""Policies trained elsewhere: their contracts, and what they do under every contact law."""
