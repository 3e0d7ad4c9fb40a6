"""The standard's functions that search, sort, and find distinct elements.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_array_api.searching import *
from torchlike_array_api.searching import UniqueAllResult as UniqueAllResult
from torchlike_array_api.searching import UniqueCountsResult as UniqueCountsResult
from torchlike_array_api.searching import UniqueInverseResult as UniqueInverseResult
