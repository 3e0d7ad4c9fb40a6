"""Pipelines: operators on their way to a device are recorded, planned and run later, with the same results."""

from __future__ import annotations

from .graph import Pending, Step
from .handle import Pipeline, current_pipeline, pipeline
from .settle import force, settle

__all__ = ["Pending", "Pipeline", "Step", "current_pipeline", "force", "pipeline", "settle"]
