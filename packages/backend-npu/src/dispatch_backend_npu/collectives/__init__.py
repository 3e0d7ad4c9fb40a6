"""Collectives by HCCL: communicators of groups, the data types and reductions, and errors in the library's words."""

from .communicator import Communicator, connect
from .errors import HcclError

__all__ = ["Communicator", "HcclError", "connect"]
