"""Simulators that `tarsus bench --peers` measures: one file each, found by its name."""

KIND = "peers"
