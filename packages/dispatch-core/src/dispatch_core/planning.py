"""The API for planners: programs as a pipeline hands them to a device's plugin, and the steps that come back.

>>> from dispatch_core.planning import PlannedStep
>>> PlannedStep.__name__
'PlannedStep'
"""

from __future__ import annotations

from .pipelines.model import Node, PlannedStep, Program, Value, filled

__all__ = ["Node", "PlannedStep", "Program", "Value", "filled"]
