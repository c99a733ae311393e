"""The smallest experiment there can be: what is left is the cost of running a job at all."""
