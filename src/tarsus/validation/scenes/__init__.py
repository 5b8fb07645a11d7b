"""One file, one scene: the file's name is the scene's name."""

KIND = "scenes"
