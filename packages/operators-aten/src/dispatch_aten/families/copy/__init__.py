"""Copies, conversions and the way from tensor to Python number."""
