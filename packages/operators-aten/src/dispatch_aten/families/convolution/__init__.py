"""Convolutions, and the columns of their windows."""
