"""Where the rows of an operator stand: in each room in the module of the operator's kind, with few exceptions.

An operator's kind is the file of ``families/`` that has its row. Its shape rule and decomposition are
looked for in the modules of that name, and in those of ``BESIDE``, where ``FEW`` does not say that these have only others'
rows; so no more modules are imported than the operators of a program need.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .operators import KIND_OF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = ["BESIDE", "FEW", "all_modules", "find", "is_operator", "kind_of", "modules_of", "names_in"]

BESIDE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "shapes": {
        "activation": ("pointwise",),
        "comparison": ("pointwise",),
        "factory": ("sequences",),
        "lists": ("view",),
        "pointwise": ("view",),
        "pooling": ("adaptive_pooling",),
        "reduction": ("pointwise",),
        "view": ("splitting",),
    },
    "decompositions": {
        "": ("aliases", "scalars"),
        "comparison": ("pointwise",),
        "copy": ("inplace_views", "splitting"),
        "factory": ("sequences",),
        "fft": ("stft",),
        "indexing": ("scatter",),
        "linalg": ("least_squares", "matrix_norms", "matrix_products", "reflections"),
        "lists": ("joining",),
        "loss": ("margin_loss", "distance"),
        "matmul": ("einsum", "matrix_products"),
        "ordering": ("histograms",),
        "pointwise": ("view",),
        "pooling": ("adaptive_pooling",),
        "random": ("dropout",),
        "reduction": ("calculus", "scans"),
        "resampling": ("grids",),
        "view": ("inplace_views", "splitting"),
    },
}
"""Room → kind → the further modules in which rows of its operators stand; "" is every kind."""

#: Module of decompositions → the only operators, without overloads, that have rows in it: others do without it.
_FEW_ROWS: Final = {
    "adaptive_pooling": """
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward
        adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d
    """,
    "calculus": """
        corrcoef cov cumulative_trapezoid diff dist gradient nanmean nansum renorm std_mean trapezoid trapz
    """,
    "distance": "_euclidean_dist bilinear cdist cosine_similarity pairwise_distance pdist",
    "dropout": """
        alpha_dropout alpha_dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_
    """,
    "einsum": "einsum",
    "grids": "affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d",
    "histograms": "histc histogram histogramdd",
    "inplace_views": "as_strided_ is_set_to resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_",
    "margin_loss": """
        cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss
        triplet_margin_loss
    """,
    "matrix_products": """
        chain_matmul linalg_diagonal linalg_matmul linalg_matrix_power linalg_multi_dot linalg_tensorinv
        linalg_tensorsolve linalg_vander linalg_vecdot matrix_power vander
    """,
    "scans": "cummax cummaxmin_backward cummin logcumsumexp",
    "sequences": """
        bartlett_window blackman_window empty_permuted hamming_window hann_window kaiser_window linspace logspace range
        tril_indices triu_indices
    """,
}
FEW: Final = {module: frozenset(names.split()) for module, names in _FEW_ROWS.items()}

#: Kinds without a module of their own in a room: others have all the rows, or there are none.
_WITHOUT: Final = {
    "shapes": frozenset({"comparison"}),
    "decompositions": frozenset({"comparison"}),
}


def kind_of(name: str) -> str | None:
    """Return an operator's kind, by its name with overload and perhaps namespace; None for an unknown one.

    >>> kind_of("aten::mul.Tensor")
    'pointwise'
    """
    return KIND_OF.get(name.removeprefix("aten::"))


@cache
def _packets() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in KIND_OF)


def is_operator(name: str) -> bool:
    """Return whether an operator has that name, without an overload."""
    return name in _packets()


def _module_names(room: str, kind: str) -> tuple[str, ...]:
    own = () if kind in _WITHOUT[room] else (kind,)
    return (*own, *BESIDE[room].get(kind, ()), *BESIDE[room].get("", ()))


@cache
def _import(room: str, name: str) -> ModuleType:
    return import_module(f"{__package__}.{room}.{name}")


@cache
def modules_of(room: str, name: str) -> tuple[ModuleType, ...]:
    """Return the modules of a room in which an operator's rows stand, by its name with overload; none for an unknown one.

    >>> [module.__name__.removeprefix("dispatch_aten.") for module in modules_of("shapes", "conv2d")]
    ['shapes.convolution']
    """
    kind = KIND_OF.get(name)
    if kind is None:
        return ()
    packet = name.partition(".")[0]
    few = FEW if room == "decompositions" else {}
    return tuple(_import(room, each) for each in _module_names(room, kind) if each not in few or packet in few[each])


def all_modules(room: str) -> Iterator[ModuleType]:
    """Yield every module of a room, once."""
    names = (name for kind in dict.fromkeys(KIND_OF.values()) for name in _module_names(room, kind))
    for name in dict.fromkeys(names):
        yield _import(room, name)


def find(room: str, table: str, name: str) -> Any:
    """Return an operator's row in a table of its kind's modules.

    Raises ``KeyError`` where there is none.
    """
    for module in modules_of(room, name):
        rows = getattr(module, table, {})
        if name in rows:
            return rows[name]
    raise KeyError(name)


def names_in(room: str, table: str) -> list[str]:
    """Return the operators with a row in a table of a room, in the order of the operators."""
    names = {name for module in all_modules(room) for name in getattr(module, table, ())}
    return [name for name in KIND_OF if name in names]
