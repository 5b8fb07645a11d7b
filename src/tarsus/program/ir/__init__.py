"""Intermediate representation: programs of basic blocks and loops, traced from CasADi."""
