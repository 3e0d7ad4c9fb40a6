"""One step of a recurrent layer as a module (source: ``torch.nn.modules.rnn``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.parts.rnn_cells import *
