"""Whether programs ask for algorithms that give the same bits in each run; devices that have the choice are told."""

from __future__ import annotations

from ..discovery import loader

__all__ = ["is_deterministic", "set_deterministic"]

_mode = False


def set_deterministic(mode: bool) -> None:
    """Ask all devices for algorithms that give the same bits in each run, or for the fastest ones, which is the default.

    The devices that are open are told by the part ``deterministic`` of their interface; others ask when they are opened.
    Raises what a backend raises; the choice stays as it was then.

    >>> set_deterministic(True)
    >>> is_deterministic()
    True
    >>> set_deterministic(False)
    """
    global _mode
    before, _mode = _mode, bool(mode)
    try:
        for interface in loader().opened_interfaces():
            if interface.deterministic is not None:
                interface.deterministic(_mode)
    except BaseException:
        _mode = before
        raise


def is_deterministic() -> bool:
    """Return whether the program asks for algorithms that give the same bits in each run.

    >>> is_deterministic()
    False
    """
    return _mode
