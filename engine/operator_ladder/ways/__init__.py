"""One module per operator: its inputs by size, and a function for every way to compute it."""
