"""One module per operator: its Python function, reference, shapes, derivative and rules."""
