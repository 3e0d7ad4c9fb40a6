"""Scattered writes and reductions."""
