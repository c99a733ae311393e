"""Custom autograd Functions: what their ctx keeps, what their backward gives, and whether gradcheck agrees and why."""
