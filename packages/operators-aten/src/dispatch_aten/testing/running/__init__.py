"""Running checks: in processes of their own, those that failed first, or those that an earlier run has not come to."""

from __future__ import annotations

from .groups import FaultGroup, find_groups
from .pool import Runner, RunSettings, WorkerPool
from .records import Records

__all__ = ["FaultGroup", "Records", "RunSettings", "Runner", "WorkerPool", "find_groups"]
