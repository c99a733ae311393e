"""Sparse layouts: the arrays PyTorch keeps; specs and results need no torch."""
