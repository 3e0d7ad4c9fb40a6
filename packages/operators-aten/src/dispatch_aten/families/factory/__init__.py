"""Operators that make tensors from sizes and numbers, and that fill them."""
