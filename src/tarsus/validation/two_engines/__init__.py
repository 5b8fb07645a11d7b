"""One file in Tarsus and in MuJoCo: the same motions side by side."""
