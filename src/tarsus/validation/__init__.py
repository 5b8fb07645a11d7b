"""Closed-form scenes, and how every contact law and stepper does on them."""
