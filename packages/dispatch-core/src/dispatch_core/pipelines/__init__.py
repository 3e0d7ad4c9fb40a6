"""Pipelines: operators on their way to a device are recorded, planned and run later, with the same results."""

from __future__ import annotations

from .graph import Pending, Step
from .handle import Pipeline, current_pipeline, pipeline
from .settle import force, is_pending, settle, settle_random

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
