"""The dispatcher's errors as the classes that torch raises in their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dispatch_core as dc

__all__ = ["LibraryError", "as_torch_error"]


class LibraryError(dc.RegistrationError, RuntimeError):
    """A registration contradicts an earlier one or cannot be carried out: torch's RuntimeError, and the dispatcher's."""


@contextmanager
def as_torch_error() -> Iterator[None]:
    """Turn the dispatcher's errors of registrations into RuntimeErrors.

    >>> with as_torch_error():
    ...     raise dc.RegistrationError("it is closed")
    Traceback (most recent call last):
    torchlike.library.torch_errors.LibraryError: it is closed
    """
    try:
        yield
    except LibraryError:
        raise
    except dc.SchemaError as error:
        text = str(error)
        found = LibraryError(f"unknown type specifier: {text}" if text.startswith("unknown type ") else text)
    except (dc.RegistrationError, dc.OperatorNotFoundError) as error:
        found = LibraryError(_describe(str(error)))
    except dc.DispatchKeyError as error:
        found = LibraryError(f"could not parse dispatch key: {error}")
    else:
        return
    raise found from None


def _describe(text: str) -> str:
    """Return the text with torch's words where programs look for them."""
    if "is defined already" in text:
        return (
            f"Tried to register an operator with the same name and overload name multiple times. Each overload's schema "
            f"should only be registered with a single call to def(). {text}"
        )
    if "has a DEF library already" in text:
        return f"Only a single TORCH_LIBRARY can be used to register the namespace. {text}"
    if "of kind IMPL and cannot define" in text:
        return f"Cannot define an operator inside of a TORCH_LIBRARY_IMPL block. {text}"
    return text
