"""Diagnostics: why a gradient is None, zero or not finite; loads no torch by itself."""
