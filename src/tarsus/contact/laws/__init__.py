"""Contact laws, one per file; the file's name is the law's name."""

KIND = "laws"
