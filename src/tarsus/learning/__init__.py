"""Learners: policies from tasks, kept in folders, played under any law and in MuJoCo."""
