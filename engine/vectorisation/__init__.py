"""The vectorisation ladder: one computation written as loops, broadcasting, einsum, matmul and compiled code."""
