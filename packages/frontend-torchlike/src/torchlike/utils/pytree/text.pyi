"""Specs as text: JSON that another process reads.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.values.pytree.text import *
from torchlike.values.pytree.text import _Asterisk as _Asterisk
