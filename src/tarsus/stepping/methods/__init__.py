"""One file, one stepper: the file's name is the stepper's name."""

KIND = "steppers"
