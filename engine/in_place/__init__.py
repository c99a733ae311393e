"""In-place operations: programs of statements, version counters, what each node saved and which write broke it."""
