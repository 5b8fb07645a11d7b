"""Contact laws and their solvers: contact problems as pure algebra, independent of the robot.

`base` is the interface of a law, `problem` what a law receives and returns. `laws/` holds one law
per file and `solvers/` one method for hard contact per file. `material` converts measurements of a
foot or a ground into parameters.
"""
