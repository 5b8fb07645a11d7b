"""Readers of the files that trainers write next to a network, one module for each kind."""

KIND = "policy_readers"
