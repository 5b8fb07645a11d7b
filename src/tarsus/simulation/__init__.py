"""The simulation: a scene, a stepper and a controller compiled into one program, run and logged."""
