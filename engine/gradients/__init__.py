"""Gradient values: how large each one is, and what changes it."""
