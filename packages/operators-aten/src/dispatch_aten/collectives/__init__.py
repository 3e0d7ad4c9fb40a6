"""Processes that work together: groups, the store by which they find each other, and collectives as operators.

Importing it defines the operators of the namespace ``dispatch``.

>>> import dispatch_core as dc
>>> dc.ops.dispatch.all_reduce.default.name
'dispatch::all_reduce'
"""

from .errors import CollectiveError, RankLostError, StoreTimeoutError
from .groups import ProcessGroup, barrier, connection_of, engine_of
from .operators import REDUCTIONS
from .store import KEY_VARIABLE, TCPStore

__all__ = [
    "KEY_VARIABLE",
    "REDUCTIONS",
    "CollectiveError",
    "ProcessGroup",
    "RankLostError",
    "StoreTimeoutError",
    "TCPStore",
    "barrier",
    "connection_of",
    "engine_of",
]
