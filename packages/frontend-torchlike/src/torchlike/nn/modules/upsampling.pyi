"""Images of another size.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.arrangement.upsampling import *
