"""Changes of shape as modules.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.arrangement.flatten import *
