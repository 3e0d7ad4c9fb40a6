"""Pipelines: operators on their way to a device are recorded, planned and run later, with the same results."""

from __future__ import annotations

from .handle import Pipeline, current_pipeline, pipeline
from .materialization import force, is_pending, settle, settle_random
from .steps import Pending, Step

__all__ = [
    "Pending",
    "Pipeline",
    "Step",
    "current_pipeline",
    "force",
    "is_pending",
    "pipeline",
    "settle",
    "settle_random",
]
