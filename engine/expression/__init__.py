"""The safe expression language: what people type is parsed here and computed by a table, never evaluated."""
