"""Numbers as people read them: with a unit that keeps them short."""

from __future__ import annotations

from typing import Final

_TIMES: Final = (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9))
_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def show_time(nanoseconds: float) -> str:
    """Return a time with three digits after the point, in the unit that leaves less than a thousand before it.

    >>> show_time(831), show_time(1_234), show_time(45_678_900), show_time(0)
    ('831 ns', '1.234 µs', '45.679 ms', '0 ns')
    """
    for unit, size in _TIMES:
        # A number that rounds to a thousand belongs to the next unit.
        if abs(nanoseconds) / size < 999.9995 or unit == "s":
            value = nanoseconds / size
            return f"{value:,.0f} {unit}" if size == 1 else f"{value:,.3f} {unit}"
    raise AssertionError


def show_size(count: float) -> str:
    """Return a number of bytes, above a kibibyte with one digit after the point.

    >>> show_size(0), show_size(640), show_size(65_536), show_size(3_500_000)
    ('0 B', '640 B', '64.0 KiB', '3.3 MiB')
    """
    value = float(count)
    for unit in _SIZES:
        if abs(value) < (1000 if unit == "B" else 1023.95) or unit == _SIZES[-1]:
            return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    raise AssertionError


def show_share(part: float) -> str:
    """Return a part of a whole in percent.

    >>> show_share(0.125), show_share(1.0)
    ('12.5 %', '100.0 %')
    """
    return f"{part:.1%}".replace("%", " %")


def show_number_of(noun: str, number: int) -> str:
    """Return a number with the noun that it counts, in the plural where it is not one.

    >>> show_number_of("step", 1), show_number_of("step", 1200)
    ('1 step', '1,200 steps')
    """
    return f"{show_count(number)} {noun}{'' if number == 1 else 's'}"


def show_count(number: int) -> str:
    """Return a number with commas between its thousands.

    >>> show_count(1234567)
    '1,234,567'
    """
    return f"{number:,}"
