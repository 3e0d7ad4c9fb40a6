"""Generated recorders, which become part of the operators' calls.

Note [Answers of shape rules]
    A generated recorder asks the shape rule only for answers that are not kept. A kernel under Meta whose attribute
    ``cache_key`` is a function that returns a key promises that its answers depend on the key alone. The key's
    ``text(names)`` is the text of a tuple's elements, given the names of the arguments, for tensors of their specs; the
    text calls its ``settings`` by the name ``__settings``. ``cache(ask)`` returns a dictionary, and a function that
    asks and keeps the answer there. The operator library's shape rules have that attribute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arrays.lent_memory import LENT
from ..calls import codegen
from ..keys import context
from ..keys.table import DispatchKey
from .array_specs import ARRAY_SPECS, UNKNOWN, intern_spec
from .blocks import innermost
from .callers import INSIDE
from .pending import known_storage_key
from .recorder_source import recorder_lines

if TYPE_CHECKING:
    from ..calls.boundary import Boundary
    from .recording import Recorder

__all__ = ["inlined_recorder"]

Runner = Callable[..., Any]


def inlined_recorder(plain: Recorder, boundary: Boundary, below: Runner, otherwise: Runner) -> Runner:
    """Return the generated form of ``plain``; it calls ``below`` for a view at once, ``otherwise`` for unusual calls."""
    entry, signature, frontend = plain.entry, plain.signature, boundary.frontend
    cache_key = None if plain.cache_key is None else plain.cache_key()
    ask = _asker(plain.meta)
    constants = {
        "__ask": ask,
        "__below": below,
        "__context": context.current,
        "__frame": sys._getframe,
        "__home": plain.home,
        "__id": id,
        "__innermost": innermost,
        "__its_inside": INSIDE,
        "__its_specs": ARRAY_SPECS,
        "__its_lent": LENT,
        "__made": plain.made,
        "__storage_key": known_storage_key,
        "__record_op": entry.op,
        "__step": plain.step,
        "__unusual": otherwise,
        "__its_user": [None],
    }
    if cache_key is not None:
        constants["__settings"] = cache_key.settings
        constants["__its_answers"], constants["__ask"] = cache_key.cache(ask)
    if frontend is not None:
        constants |= {
            "__record_new": frontend.new,
            "__record_view": frontend.view,
            "__record_mutated": frontend.mutated,
        }
    has_effect = bool(signature.writes) or "nondeterministic_seeded" in entry.tags

    def lines(spelled: Any) -> list[str]:
        return recorder_lines(
            spelled,
            boundary,
            cache_key=cache_key,
            has_effect=has_effect,
            is_pointwise="pointwise" in entry.tags,
        )

    return codegen.make_inlined_runner(signature, codegen.Inlined(lines, constants, DispatchKey.Pipeline.value))


def _asker(rule: Runner) -> Runner:
    """Return a function that asks a shape rule; it returns None where the rule cannot infer the result."""

    def ask(*values: Any) -> Any:
        if any(value is UNKNOWN or (type(value) is list and UNKNOWN in value) for value in values):
            return None
        try:
            return intern_spec(rule(*values))
        except NotImplementedError:
            return None

    return ask
