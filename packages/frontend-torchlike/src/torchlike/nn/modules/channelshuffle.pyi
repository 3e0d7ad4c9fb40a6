"""Channels of several groups in turn.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.arrangement.channelshuffle import *
