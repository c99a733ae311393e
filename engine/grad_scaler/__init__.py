"""The real torch.amp.GradScaler, step by step: its scale, what it skips, and what gradients survive a number format."""
