"""Operators on lists of tensors, and those that repeat, reorder or sort."""
