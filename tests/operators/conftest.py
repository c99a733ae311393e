"""What every test of the operators starts from."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _the_same_random_numbers():
    """A gradient that is a sum may nearly cancel: how far rounding takes it depends on the upstream drawn."""
    torch.manual_seed(0)
