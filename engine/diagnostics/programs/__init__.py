"""Small programs that go wrong, and how they are mended: plain torch, ending in `return locals()` with a `loss`."""
