"""Pipelines: operators on their way to a device are recorded, planned and run later, with the same results."""

from __future__ import annotations

from .handle import Pipeline, current_pipeline, pipeline
from .materialization import is_pending, materialize, materialize_value, run_random_steps
from .pending import Pending
from .steps import Step

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
