"""torch.profiler's own table of a training step, and who freed what whom had allocated."""
