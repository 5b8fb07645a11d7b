"""Identification of robot, contact and ground parameters from logs of motion and force."""
