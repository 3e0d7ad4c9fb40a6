"""The part that distributions of one probability share: ``probs`` or ``logits``, each computed from the other.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.discrete.binary import *
