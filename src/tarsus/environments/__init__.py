"""Tasks for learners: many worlds that act, are paid and begin again in one call."""
