"""Engines: one file, one simulator behind one interface; the file's name is the engine's name."""

KIND = "engines"
