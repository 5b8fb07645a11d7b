"""Comparison of the motions of one robot file in Tarsus and in MuJoCo."""
