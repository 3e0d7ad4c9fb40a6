"""The standard's questions about the namespace: its dtypes, its devices, and its capabilities.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.inspection import *
from torchlike_array_api.inspection import ArrayNamespaceInfo as ArrayNamespaceInfo
