"""Checkpointing and offload policies, measured, forecast and searched."""
