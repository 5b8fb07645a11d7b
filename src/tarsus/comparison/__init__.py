"""One robot, one controller, one start: every contact law side by side."""
