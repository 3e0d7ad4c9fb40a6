"""Padding layers.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike.nn.modules.arrangement.padding import *
from torchlike.nn.modules.arrangement.padding import _PadNd as _PadNd
from torchlike.nn.modules.arrangement.padding import _CircularPadNd as _CircularPadNd
from torchlike.nn.modules.arrangement.padding import _ReflectionPadNd as _ReflectionPadNd
from torchlike.nn.modules.arrangement.padding import _ReplicationPadNd as _ReplicationPadNd
from torchlike.nn.modules.arrangement.padding import _ConstantPadNd as _ConstantPadNd
