"""Parameters of robot, contact and ground from logs of motion and force."""
