"""Composites called themselves, with NumPy arrays, although the cpu backend has kernels of its own."""

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT


def find_composite(name):
    """Return an operator's composite, or None."""
    return EXPLICIT.get(name) or IMPLICIT.get(name)


def bind(schema, args, kwargs):
    """Return arguments by name, with every default filled in."""
    bound = {each.name: each.default for each in schema.arguments if each.has_default}
    return bound | dict(zip([each.name for each in schema.arguments], args, strict=False)) | kwargs


def call_composite(name, *args, **kwargs):
    """Call an operator's composite as the dispatcher does."""
    schema = dc.registry.get(f"aten::{name}").schema
    bound = bind(schema, args, kwargs)
    positional = [bound[each.name] for each in schema.arguments if not each.kwarg_only]
    return find_composite(name)(
        *positional, **{each.name: bound[each.name] for each in schema.arguments if each.kwarg_only}
    )
