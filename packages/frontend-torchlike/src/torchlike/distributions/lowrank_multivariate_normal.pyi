"""Multivariate normal distributions whose covariance is a diagonal and a matrix of low rank.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.multivariate.lowrank_multivariate_normal import *
