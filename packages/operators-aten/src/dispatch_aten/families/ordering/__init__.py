"""Sorts and order statistics."""
