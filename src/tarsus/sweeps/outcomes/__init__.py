"""What a sweep measures of every world, one outcome a file: `base` says how to add one."""

KIND = "outcomes"
