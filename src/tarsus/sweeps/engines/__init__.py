"""Where the chunks of a sweep are worked on, one engine a file: `base` says how to add one."""

KIND = "sweep_engines"
