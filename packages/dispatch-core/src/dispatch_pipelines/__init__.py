"""Pipelines: operators on their way to a device are recorded, planned and run later, with the same results."""

from __future__ import annotations

from dispatch_core.tracebacks import hide_frames

from .record.materialization import is_pending, materialize, materialize_value, run_random_steps
from .record.pending import Pending
from .record.steps import Step
from .run.handle import Pipeline, current_pipeline, pipeline

__all__ = [
    "Pending",
    "Pipeline",
    "Step",
    "current_pipeline",
    "is_pending",
    "materialize",
    "materialize_value",
    "pipeline",
    "run_random_steps",
]

hide_frames(__name__)
