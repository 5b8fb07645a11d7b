"""Programs: blocks over named registers, traced from CasADi, evaluated by reference or compiled. No
physics here.
"""
