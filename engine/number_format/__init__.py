"""Number formats: what a value becomes in every floating point dtype of torch, bit by bit."""
