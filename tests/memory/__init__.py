"""Tests of engine/memory."""
