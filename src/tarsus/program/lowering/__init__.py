"""From expressions to ordered operations: what is computed when, and what waits in memory."""
