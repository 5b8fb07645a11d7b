"""One file, one command: `tarsus` finds it by its file's name."""

KIND = "commands"
