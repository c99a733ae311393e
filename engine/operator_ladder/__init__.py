"""The operator ladder: one compiled operator beside every other way to compute the same, with its limits measured."""
