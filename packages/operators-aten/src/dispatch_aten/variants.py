"""The names of an operator's variants: functional, in-place and ``out=``, as the rows of ``families`` pair them.

>>> functional_of("add_.Tensor"), functional_of("add.out"), functional_of("max.dim_max")
('add.Tensor', 'add.Tensor', 'max.dim')
>>> inplace_of("add.Tensor"), out_of("add.Tensor"), out_of("relu_")
('add_.Tensor', 'add.out', None)
"""

from __future__ import annotations

from .families import family_of
from .families.variant_schemas import is_inplace as _is_inplace
from .operators import ATEN_BY_NAME, KIND_OF

__all__ = ["base_name", "functional_of", "inplace_of", "is_inplace", "is_out", "out_of", "written_names"]


def base_name(name: str) -> str:
    """Return the operator's name without namespace and overload.

    >>> base_name("aten::add_.Tensor")
    'add_'
    """
    return name.rpartition("::")[2].partition(".")[0]


def is_inplace(name: str) -> bool:
    """Return whether the name is that of an in-place operator; ``__and__`` and its kind are not."""
    return _is_inplace(_bare(name))


def is_out(name: str) -> bool:
    """Return whether the overload writes into tensors given by keyword."""
    return functional_of(name) is not None and not is_inplace(name)


def functional_of(name: str) -> str | None:
    """Return the functional overload that an in-place or ``out=`` overload computes; None where there is none.

    For a functional overload itself the answer is None as well.
    """
    name = _bare(name)
    return family_of(name).functional.get(name) if name in KIND_OF else None


def inplace_of(name: str) -> str | None:
    """Return the in-place overload of a functional one, or None."""
    return _variant_of(_bare(name), "inplace")


def out_of(name: str) -> str | None:
    """Return the ``out=`` overload of a functional one, or None."""
    return _variant_of(_bare(name), "out")


def written_names(schema: str) -> tuple[str, ...]:
    """Return the names of the arguments that an overload writes to, by its schema's text.

    >>> written_names("max.dim_max(Tensor self, int dim, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor, Tensor)")
    ('max', 'max_values')
    """
    arguments = schema[: schema.rindex(" -> ")].rstrip(")").split("(", 1)[1].split(", ")
    return tuple(part.split()[-1] for part in arguments if "!" in part)


def _bare(name: str) -> str:
    return name.rpartition("::")[2]


def _variant_of(name: str, tag: str) -> str | None:
    if name not in KIND_OF:
        return None
    base, dot, overload = name.partition(".")
    # Those in place stand in a family of their own where they have further overloads, as ``bernoulli_`` does.
    families = [family_of(each) for each in (f"{base}_{dot}{overload}", name) if each in KIND_OF]
    found = [each for family in families for each, functional in family.functional.items() if functional == name]
    return next((each for each in reversed(found) if tag in ATEN_BY_NAME[each].tags), None)
