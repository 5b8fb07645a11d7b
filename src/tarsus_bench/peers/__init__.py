"""Simulators that `tarsus bench --peers` measures, one file each."""

KIND = "peers"
