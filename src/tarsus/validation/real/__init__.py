"""Real experiments that laws are held against, one file or folder each: see `base`."""

KIND = "real_experiments"
