"""Processes that work together: groups, the store by which they find each other, and collectives as operators.

Importing it defines the operators of the namespace ``dispatch``.

>>> import dispatch_core as dc
>>> dc.ops.dispatch.all_reduce.default.name
'dispatch::all_reduce'
"""

from . import operators  # noqa: F401  # importing it defines the operators
from .checks import REDUCTIONS
from .counting import COUNTS
from .deferral import Deferral, after, current_deferral
from .errors import CollectiveError, RankLostError, StoreTimeoutError
from .groups import ProcessGroup, barrier, connection_of, engine_of
from .local_stores import FileStore, HashStore, PrefixStore, Store
from .store import KEY_VARIABLE, TCPStore, find_port

__all__ = [
    "COUNTS",
    "KEY_VARIABLE",
    "REDUCTIONS",
    "CollectiveError",
    "Deferral",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "ProcessGroup",
    "RankLostError",
    "Store",
    "StoreTimeoutError",
    "TCPStore",
    "after",
    "barrier",
    "connection_of",
    "current_deferral",
    "engine_of",
    "find_port",
]
