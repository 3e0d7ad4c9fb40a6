"""Resampling: interpolation, sampling at the points of a grid, and shuffles of pixels."""
