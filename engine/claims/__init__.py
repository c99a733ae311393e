"""The claims of two articles about PyTorch, each measured on this machine."""
