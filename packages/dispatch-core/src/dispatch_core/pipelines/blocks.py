"""Which pipeline records: every thread and task sees the blocks that are open in its own context.

Note [Blocks may end in any order]
    A block ends as a rule in the context that began it, the innermost first. A generator that is suspended inside one, a
    handle that another thread closes, and a task that outlives the block that started it do otherwise. So what a context
    holds is the chain of its blocks. One that has ended is passed over wherever it stands, and taken off the chain once it
    is the innermost there.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Final

from .. import masks
from ..keys import DispatchKey

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Block", "current", "enter", "innermost", "leave", "paused"]

_PIPELINE: Final = DispatchKey.Pipeline.value


class Block:
    """One entry into a pipeline."""

    __slots__ = ("guard", "is_open", "outer", "session", "takes_notes", "token")

    def __init__(self, session: Session, outer: Block | None) -> None:
        self.session = session
        #: The block around it in its context.
        self.outer = outer
        self.is_open = True
        #: Whether generated recorders may note calls: they measure nothing, and look no further than here.
        self.takes_notes = not session.options["trace"]
        # By its name, which is what guards find quickest.
        self.guard = masks.include_keys("Pipeline")
        self.token: Token[Block | None]


_innermost: Final[ContextVar[Block | None]] = ContextVar("dispatch_core.pipeline", default=None)
#: Give the block that was entered last in this context, which may have ended.
innermost = _innermost.get


def current() -> Session | None:
    """Return the session that records in this context, or None."""
    block = innermost()
    while block is not None:
        if block.is_open:
            return block.session
        block = block.outer
    return None


def enter(session: Session) -> Block:
    """Let ``session`` record in this context."""
    if not session.is_open:
        outer = around = current()
        # A handle that is entered once more may stand inside a block that was begun inside its own.
        while around is not None and around is not session:
            around = around.outer
        session.open(outer if around is None else None)
    block = Block(session, innermost())
    block.token = _innermost.set(block)
    block.guard.__enter__()
    return block


def leave(session: Session, blocks: list[Block]) -> None:
    """End the innermost block of ``session`` in this context; in another context than its own, its latest one.

    ``blocks`` are those of its blocks that are open, and lose it. See Note [Blocks may end in any order].
    """
    block = innermost()
    while block is not None and not (block.session is session and block in blocks):
        block = block.outer
    block = block or blocks[-1]
    blocks.remove(block)
    block.is_open = block.takes_notes = False
    last = innermost()
    while last is not None and not last.is_open:
        try:
            _innermost.reset(last.token)
        except ValueError:  # It was begun in another context, where it will be passed over.
            return
        last.guard.__exit__(None, None, None)
        last = innermost()


class paused:  # noqa: N801  # a context manager is spelled like a function
    """Record nothing while the block runs, whatever it calls: kernels and callbacks see arrays and compute at once.

    ``state`` are the masks that hold meanwhile. The Pipeline key is not included, but not excluded either, so that pending
    values that a kernel finds somewhere are computed for it.
    """

    __slots__ = ("_block", "_masks", "_state")

    def __init__(self, state: masks.State | None) -> None:
        if state is not None and state[0] & _PIPELINE:
            state = state[0] & ~_PIPELINE, state[1]
        self._state = None if state == (0, 0) else state

    def __enter__(self) -> None:
        self._block = _innermost.set(None)
        self._masks = masks.set_state(self._state)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        masks.reset_state(self._masks)
        _innermost.reset(self._block)
