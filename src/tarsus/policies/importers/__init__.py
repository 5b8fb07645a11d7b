"""Readers of what trainers write beside a network: one file for each kind."""

KIND = "policy_readers"
