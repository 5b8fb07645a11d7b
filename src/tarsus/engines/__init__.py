"""Tarsus, MuJoCo and other simulators behind one interface; one file adds one."""

KIND = "engines"
