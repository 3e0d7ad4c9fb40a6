"""Levels of registration: whose kernel wins where several stand under one key of one operator.

Note [Levels]
    Registrations that a backend or a library makes while it loads rank below the program's, whichever come first, so
    that a backend that loads late takes nothing of the program's. Within a level the newest wins. Levels decide between
    registrations of one slot (operator, key); they never move a kernel to another slot.

Note [Kernels that a general kernel hides]
    A specialized kernel serves some calls instead of the general kernel that it was registered beside. A general kernel
    that ranks above it hides it, and so do plans, which know kernels by identity. In the same way an overload with a
    number gives way to the overload with a tensor where that one's kernel is of a higher level (`Registry.give_way`): a
    program that registers ``mul.Tensor`` means ``a * 2`` too. For arithmetic, where torch makes a
    tensor of the number before it calls anything, that holds for kernels under Autograd keys as well.
"""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """Who made a registration; the higher one wins.

    >>> Level.of("backend") < Level.of("program")
    True
    """

    #: Made while a backend or an operator library loads, or for a frontend as such.
    BACKEND = 0
    #: Another implementation of a backend's operators, switched on by name.
    ALTERNATIVE = 1
    #: Made by the program, or by code that the program called.
    PROGRAM = 2

    @classmethod
    def of(cls, name: str | Level) -> Level:
        """Return the level of that name; raises ``KeyError`` for another word."""
        return name if isinstance(name, cls) else cls[str(name).upper()]

    def __str__(self) -> str:
        return self.name.lower()
