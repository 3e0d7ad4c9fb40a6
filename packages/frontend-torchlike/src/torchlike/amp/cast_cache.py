"""The casts that autocast keeps, so that a weight which is used several times in a block is cast once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

from dispatch_aten.dtypes import ScalarType
from dispatch_core.frontends import current_session

from ..history.grad_mode import is_grad_enabled
from ..names.lazy_names import Tensor


class CastCache:
    """The kept casts of the blocks of one context.

    A cast is good for the version that its leaf had, because an optimizer may have stepped since; for the grad mode, because
    one that was made under ``no_grad`` has no history; and in the pipeline or the recorded call that it was made in, because
    a replay must cast the leaf again. A leaf whose ``.data`` was asked for may be written to without a new version, and is
    cast each time from then on.
    """

    __slots__ = ("_distrusted", "_entries", "_session")

    def __init__(self) -> None:
        #: id of a leaf → the leaf, its state and version, the grad mode, the dtype, and the cast.
        self._entries: dict[int, tuple[ref[Tensor], Any, int, bool, ScalarType, Tensor]] = {}
        self._session: object = None
        #: id of a leaf of which no cast is kept → the leaf.
        self._distrusted: dict[int, ref[Tensor]] = {}

    def distrust(self, leaf: Tensor) -> None:
        """Keep no cast of a leaf."""
        # See Note [Where an array dies] in `dispatch_core.interrupts`.
        self._distrusted[id(leaf)] = ref(leaf, partial(self._distrusted.pop, id(leaf)))
        self._entries.pop(id(leaf), None)

    def clear(self) -> None:
        """Forget all casts."""
        self._entries.clear()

    def find(self, leaf: Tensor, dtype: ScalarType, session: object) -> Tensor | None:
        """Return the kept cast of a tensor, if there is one and it is still good."""
        found = self._entries.get(id(leaf))
        if found is None or session is not self._session:
            return None
        kept, state, version, records, wanted, made = found
        is_good = (
            wanted is dtype
            and kept() is leaf
            and leaf._autograd is state
            and state.requires_grad
            and state.version == version
            and is_grad_enabled() is records
        )
        return made if is_good else None

    def cast(self, leaf: Tensor, dtype: ScalarType, run: Callable[[Tensor, ScalarType], Tensor]) -> Tensor:
        """Return the cast of a leaf that ``run`` makes now, and keep it."""
        made = run(leaf, dtype)
        if id(leaf) in self._distrusted:
            return made
        session = current_session()
        if session is not self._session:
            self._session = session
            self._entries.clear()
        # As in `distrust`.
        kept = ref(leaf, partial(self._entries.pop, id(leaf)))
        self._entries[id(leaf)] = kept, leaf._autograd, leaf._version, is_grad_enabled(), dtype, made
        return made


class Nesting(NamedTuple):
    """How many blocks there are around the running code, and the cache that they share."""

    depth: int
    cache: CastCache
