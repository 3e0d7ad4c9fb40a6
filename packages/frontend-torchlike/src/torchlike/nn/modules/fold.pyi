"""Windows of images as columns, and back.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.arrangement.fold import *
