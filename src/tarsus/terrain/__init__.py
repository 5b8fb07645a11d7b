"""One file, one surface: the file's name is the terrain's name."""

KIND = "terrains"
