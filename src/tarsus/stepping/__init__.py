"""Time stepping: what happens in one step, and where mechanics and contact laws meet.

A stepper (`methods/`) picks the coordinates at which a step is evaluated. `assemble` computes
kinematics, mass matrix and contacts there, poses the contact problem, lets the contact law solve
it, and returns the velocity at the end of the step; the stepper then advances the coordinates with
that velocity. `joints` and `servos` wrap this velocity step: if a joint limit, dry friction in a
joint or a limit of an actuator is violated at the end, they lock or release joints, or change the
actuator's force, and solve the step again.

While a robot stands, only its primary contacts (the feet) are solved. Where it lies on its side,
`slots` gathers the deepest contacts of the whole body into a fixed number of slots, and the law
solves the slots instead; joints pressed against their limits are locked first, so that limbs do not
swing through their stops. This code is cold: it is compiled when the first world falls
(docs/decisions/0025-contact-slots.md, 0063-default-contact-candidates.md,
0066-warm-start-of-lying-robots.md).
"""
