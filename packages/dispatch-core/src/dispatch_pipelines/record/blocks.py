"""Which pipeline records: every thread and task sees the blocks that are open in its own context.

Note [Blocks may end in any order]
    A block ends as a rule in the context that began it, the innermost first. A generator that is suspended inside one, a
    handle that another thread closes, and a task that outlives the block that started it do otherwise. So a context holds
    the chain of its blocks. A block that has ended is passed over wherever it stands, and removed from the chain once it
    is the innermost there, the masks are those that it has set, and no step of its pipeline is left to run.

Note [Abandoned pipelines]
    An interrupt may fall between the entry into a block and its body, or while the block ends. A pipeline whose handle,
    which holds ``__exit__``, is gone has ended; the session refers to its handle weakly. Its observable steps run before
    the next operator in that context, which arrives at the recorder, because the Pipeline key stays included so long.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Final

from dispatch_core.interrupts import Guard, by_subscript, whole
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey

if TYPE_CHECKING:
    from ..run.session import Session

_PIPELINE: Final = DispatchKey.Pipeline.value


class Block:
    """One entry into a pipeline."""

    __slots__ = ("is_open", "outer", "session", "state", "takes_records", "tokens")

    def __init__(self, session: Session) -> None:
        self.session = session
        #: The block around it in its context.
        self.outer = innermost()
        self.is_open = True
        #: Whether generated recorders may record calls: they measure nothing, keep no tensors, and look no further.
        self.takes_records = not session.options["trace"] and not session.defers_all
        #: The context's masks inside it.
        self.state = context.with_included(_PIPELINE)
        #: What undoes its entry; None where memory ran out in the middle of that.
        self.tokens: tuple[Token[Block | None], Token[context.State | None]] | None = None


_innermost: Final[ContextVar[Block | None]] = ContextVar("dispatch_core.pipeline", default=None)
#: Return the block that was entered last in this context, which may have ended.
innermost = _innermost.get
_set_innermost: Final = by_subscript(_innermost.set)
_reset_innermost, _reset_masks = by_subscript(_innermost.reset), by_subscript(context.reset_state)


def current() -> Session | None:
    """Return the session that records in this context, or None."""
    block = innermost()
    while block is not None:
        if block.is_open:
            return block.session
        block = block.outer
    return None


def enter(session: Session, handle: object, around: Session | None) -> None:
    """Start recording by ``session`` in this context inside ``around``, until its blocks end or ``handle`` is gone."""
    outer = None
    if not session.is_open:
        outer = around
        # A handle that is entered once more may stand inside a block that was begun inside its own.
        while around is not None and around is not session:
            around = around.outer
        outer = outer if around is None else None
    block = Block(session)
    if not session.is_open:
        session.open(outer)
    if session.handle is None:
        session.handle = weakref.ref(handle, session.abandon)
    try:
        # See Note [Where an interrupt falls] in `interrupts`.
        session.blocks += [block]
        block.tokens = _set_innermost[block], context.set_state[block.state]
    except BaseException:
        _end(block)
        tidy()
        raise


def leave(session: Session) -> bool:
    """End the innermost block of ``session`` in this context; in another context than its own, its latest one.

    Return whether there was one. See Note [Blocks may end in any order].
    """
    block = innermost()
    while block is not None and not (block.session is session and block.is_open):
        block = block.outer
    if block is None:
        block = session.blocks[-1] if session.blocks else None
    if block is None:
        return False
    _end(block)
    return True


def _end(block: Block) -> None:
    session = block.session
    blocks = session.blocks
    if blocks and blocks[-1] is block:
        del blocks[-1]
    elif block in blocks:
        blocks.remove(block)
    if not session.blocks:
        session.shut()
    block.is_open = block.takes_records = False


def tidy() -> None:
    """Remove blocks that have ended from this context's chain, as far as possible."""
    while (block := innermost()) is not None and not block.is_open:
        session = block.session
        if (session.is_unfinished and not session.is_open) or context.current() != block.state:
            return
        if block.tokens is None:
            _innermost.set(block.outer)
            if block.outer is None:
                _ = context.set_state[context.without_included(_PIPELINE)]
            continue
        block_token, state_token = block.tokens
        try:
            _reset_masks[state_token], _reset_innermost[block_token]
        except (RuntimeError, ValueError):
            # It was begun in another context, whose masks are not these.
            _innermost.set(block.outer)


def finish() -> Session | None:
    """Run the steps of pipelines that ended without running them, and return the session that records."""
    block = innermost()
    while block is not None and not block.is_open:
        session = block.session
        if session.is_unfinished and not session.is_open:
            # Reading a value raises its error.
            with suppress(Exception):
                session.finish()
        block = block.outer
    tidy()
    return current()


class paused(Guard):  # noqa: N801  # a context manager is spelled like a function
    """Record nothing while the block runs, whatever it calls: kernels and callbacks see arrays and compute at once.

    ``state`` are the masks that hold meanwhile. The Pipeline key is not included, but not excluded either, so that pending
    values that a kernel finds somewhere are computed for it.
    """

    __slots__ = ("_state",)

    def __init__(self, state: context.State | None) -> None:
        self._tokens = None
        if state is not None and state[0] & _PIPELINE:
            state = state[0] & ~_PIPELINE, state[1]
        self._state = None if state == (0, 0) else state

    def __enter__(self) -> None:
        try:
            self._tokens = (_set_innermost[None], context.set_state[self._state], None)
        except BaseException:
            self._finish()
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            block, state, _ = self._tokens  # type: ignore[misc]  # a pause that is left was entered
            context.reset_state(state)
            _innermost.reset(block)
            self._tokens = None
        except BaseException:
            self._finish()
            raise
