"""Distributions of vectors and matrices, and the beta distribution, which is one of two parts of a whole."""
