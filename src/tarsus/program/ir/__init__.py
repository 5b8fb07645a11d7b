"""The intermediate representation: programs as blocks, traced from CasADi, and a reference that
evaluates them.
"""
