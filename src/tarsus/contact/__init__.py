"""Contact laws and their solvers: contact problems as pure algebra, independent of the robot."""
