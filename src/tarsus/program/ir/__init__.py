"""Programs as blocks traced from CasADi (intermediate representation), evaluated by a reference."""
