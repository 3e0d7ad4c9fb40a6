"""Generated recorders, which become part of the operators' calls.

Note [What shape rules have said]
    A generated recorder asks the shape rule only what it has not asked before. A kernel under Meta whose attribute
    ``remembers`` gives ``(settings, by_type)`` promises that its answers depend on the arguments and on the list
    ``settings`` alone. That list's element 1 differs after every change; ``by_type`` says that of numbers the type alone
    counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from .. import arrays, codegen, masks
from ..keys import DispatchKey
from ..lending import LENT
from .blocks import innermost
from .graph import INSIDE, place_asked_for
from .layouts import LAYOUTS, UNKNOWN, layout_of
from .recorder_source import recorder_lines

if TYPE_CHECKING:
    from ..boundary import Boundary
    from .record import Recorder

__all__ = ["inlined_recorder"]

Runner = Callable[..., Any]
#: How many answers of its shape rule a recorder keeps before it begins anew.
_KEPT: Final = 1024


def inlined_recorder(plain: Recorder, boundary: Boundary, below: Runner, otherwise: Runner) -> Runner:
    """Return the generated recorder: what ``plain`` does, ``below`` for a view at once, ``otherwise`` for unusual calls."""
    entry, plan, frontend = plain.entry, plain.plan, boundary.frontend
    remembers = plain.remembers
    settings, by_type = remembers() if remembers is not None else ((), False)
    answers: dict[Any, Any] = {}
    constants = {
        "__its_answers": answers,
        "__below": below,
        "__context": masks.current,
        "__frame": sys._getframe,
        "__home": plain.home,
        "__id": id,
        "__innermost": innermost,
        "__its_inside": INSIDE,
        "__its_last": [(None,) * (len(plan.parameters) + 2)],
        "__its_layouts": LAYOUTS,
        "__its_lent": LENT,
        "__learn": _learner(plain.meta, answers, settings),
        "__made": plain.made,
        "__place": place_asked_for,
        "__record_op": entry.op,
        "__its_settings": settings,
        "__step": plain.step,
        "__unusual": otherwise,
        "__its_user": [None],
    }
    if frontend is not None:
        constants |= {
            "__record_new": frontend.new,
            "__record_view": frontend.view,
            "__record_mutated": frontend.mutated,
        }
    has_effect = bool(plan.writes) or "nondeterministic_seeded" in entry.tags

    def lines(spelled: Any) -> list[str]:
        return recorder_lines(
            spelled,
            boundary,
            remembers=remembers is not None,
            by_type=by_type,
            has_effect=has_effect,
            is_pointwise="pointwise" in entry.tags,
        )

    return codegen.runner_of(plan, codegen.Inlined(lines, constants, DispatchKey.Pipeline.value))


def _learner(rule: Runner, answers: dict[Any, Any], settings: Any) -> Runner:
    """Return what asks a shape rule, and keeps what it says under a key; None where it cannot tell the result.

    Errors are not kept, nor what was said while the settings that rules go by changed, nor answers to lists that do not
    stand in the key with their elements' types.
    """

    def learn(key: Any, *values: Any) -> Any:
        if any(value is UNKNOWN or (type(value) is list and UNKNOWN in value) for value in values):
            return None
        before = tuple(settings)
        try:
            found = layout_of(rule(*values))
        except NotImplementedError:
            return None
        if key is not None and before == tuple(settings) and all(map(_tells, values)):
            if len(answers) >= _KEPT:
                answers.clear()
            with suppress(TypeError):
                answers[key] = found
        return found

    return learn


def _tells(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return True
    # Layouts are told by identity.
    return all(item is None or type(item) is int or type(item) in arrays.ARRAY_TYPES for item in value)
