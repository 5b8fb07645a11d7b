"""Programs, not physics: blocks over named registers traced from CasADi, evaluated or compiled."""
