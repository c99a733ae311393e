"""Mixed precision: what autocast casts, keeps and changes; loads no torch by itself."""
