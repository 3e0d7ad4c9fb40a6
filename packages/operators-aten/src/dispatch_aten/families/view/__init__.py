"""Operators whose results share their input's memory."""
