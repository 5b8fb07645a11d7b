"""Speed, measured beside MuJoCo in one process; settings are printed with the figures."""
