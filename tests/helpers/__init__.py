"""What several tests share: oracles, bodies, random mechanisms."""
