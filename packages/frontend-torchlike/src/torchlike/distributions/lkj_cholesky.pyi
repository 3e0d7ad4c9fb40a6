"""LKJ distributions of correlation matrices.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.multivariate.lkj_cholesky import *
