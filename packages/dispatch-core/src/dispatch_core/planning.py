"""The API for planners: programs as a pipeline hands them to a device's plugin, and the steps that come back.

>>> from dispatch_core.planning import PlannedStep
>>> PlannedStep.__name__
'PlannedStep'
"""

from __future__ import annotations

from .arrays.indices import note_placing
from .pipelines import (
    GIVEN_UP,
    Constant,
    Node,
    PlannedStep,
    Program,
    Value,
    evaluate,
    filled,
    in_order,
    is_expression,
    on_read,
)

__all__ = [
    "GIVEN_UP",
    "Constant",
    "Node",
    "PlannedStep",
    "Program",
    "Value",
    "evaluate",
    "filled",
    "in_order",
    "is_expression",
    "note_placing",
    "on_read",
]
