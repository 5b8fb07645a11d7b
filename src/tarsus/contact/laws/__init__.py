"""One file, one contact law: the file's name is the law's name."""

KIND = "laws"
