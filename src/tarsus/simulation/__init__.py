"""Compile a scene, a stepper and a controller into one program, run it, and log the run."""
