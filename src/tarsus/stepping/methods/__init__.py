"""Steppers, one per file; the file's name is the stepper's name."""

KIND = "steppers"
