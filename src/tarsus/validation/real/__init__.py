"""Real experiments that laws are compared with, one file or folder each: see `base`."""

KIND = "real_experiments"
