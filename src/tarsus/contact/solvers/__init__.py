"""Methods for the prox equations of hard contact; one file, one method."""
