"""Lowering: from expressions to ordered operations, live ranges and spill slots."""
