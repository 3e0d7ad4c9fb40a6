"""The kernels under the Autocast keys: one function for each policy, over tables of operators' names.

Note [What autocast casts]
    Tensors of the key's own device in float16, bfloat16 and float32, by operators that autograd records. The call goes on
    below the key, with the keys that are left: so it is composed, recorded, batched or deferred as any other. ``out=`` and
    in-place overloads stand on no list.

Note [Composed here]
    A block casts the parts of what torch composes, too. What torch has a kernel for, and is composed here, must not depend
    on that: such operators pass with autocast off for their parts. So do in-place and ``out=`` overloads that are made of
    their functional ones, which may stand on a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import IMPLICIT, composite_kernels
from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float32
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_core.frontends import included_mask
from dispatch_core.keys import ARRAYS, AUTOGRAD, DispatchKey

from ..history.graph_settings import current_autocast
from . import policies
from .cast_cache import current_nesting

#: What a schema says of memory that is shared: ``Tensor(a)``.
_ALIAS: Final = re.compile(r"\(.*?\)")
#: The dtypes that are cast.
CASTABLE: Final = frozenset({float16, bfloat16, float32})
#: The overload that is called instead, with a dtype at its end (policy ``fp32_append_dtype``).
_WITH_DTYPE: Final = {"aten::norm.Scalar": "ScalarOpt_dtype", "aten::norm.ScalarOpt_dim": "ScalarOpt_dim_dtype"}
_BANNED: Final = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


@cache
def policies_of(device: str) -> dict[str, str]:
    """Return the policy of each listed operator on a device.

    >>> policies_of("cpu")["mm"], policies_of("cpu").get("exp"), policies_of("meta")["exp"]
    ('lower_precision_fp', None, 'fp32')
    """
    lists = policies.CPU if device == "cpu" else policies.CUDA
    return {name: policy for policy, names in lists.items() for name in names.split()}


class OperatorCasts:
    """What a policy knows of the calls of one operator with one keyset: which arguments are cast, and what runs below."""

    def __init__(self, op: Any, keyset: Any, device: str, key: DispatchKey) -> None:
        self.op, self.device = op, device
        self.below = (keyset.mask | keyset.marker) & ~key.value
        self.run = dc.fast_redispatch(op, self.below)
        self.arguments = op.schema.arguments
        kinds = [_ALIAS.sub("", str(argument.type)) for argument in self.arguments]
        self.tensors = tuple(index for index, kind in enumerate(kinds) if kind in ("Tensor", "Tensor?"))
        self.lists = tuple(index for index, kind in enumerate(kinds) if kind == "Tensor[]")
        self._own = ARRAYS_OF[key.backend]
        self._is_alone = keyset.mask & ARRAYS != 0 and not keyset.mask & ARRAYS & ~self._own
        #: The keys of a conversion → the function that runs it.
        self._conversions: dict[int, Callable[..., Any]] = {}
        #: Under a level of a transform a leaf is the level's; nothing that it makes is kept.
        self._keeps = not keyset.mask & _LEVELS

    def is_eligible(self, value: Any) -> bool:
        """Return whether an argument may be cast: see Note [What autocast casts]."""
        if value is None or value.dtype not in CASTABLE:
            return False
        if self._is_alone:
            return True
        keys = value._dispatch_mask & ARRAYS
        return bool(keys & self._own) if keys else value.device.type == self.device

    def each_tensor(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the tensors among the arguments."""
        found = [values[index] for index in self.tensors]
        for index in self.lists:
            found += values[index]
        return found

    def cast_all(self, values: tuple[Any, ...], dtype: ScalarType) -> list[Any]:
        """Return the arguments with the eligible ones cast."""
        made = list(values)
        for index in self.tensors:
            made[index] = self.cast(made[index], dtype)
        for index in self.lists:
            made[index] = [self.cast(each, dtype) for each in made[index]]
        return made

    def cast(self, value: Any, dtype: ScalarType) -> Any:
        """Return an argument in ``dtype``, if it may be cast; a leaf's cast is kept."""
        if not self.is_eligible(value) or value.dtype is dtype:
            return value
        if (
            self._keeps
            and value.dtype is float32
            and value.requires_grad
            and value.is_leaf
            and not value._is_view()
            and (nesting := current_nesting()) is not None
            and nesting.depth > 0
            and current_autocast().cache_enabled
        ):
            return nesting.cache.cast(value, dtype, self._convert)
        return self._convert(value, dtype)

    def _convert(self, value: Any, dtype: ScalarType) -> Any:
        mask = self.below | included_mask() & _WATCHERS
        if not self._is_alone and value._dispatch_mask & ARRAYS:
            # The keys of another device's argument are not this one's.
            mask = mask & ~(ARRAYS | AUTOGRAD) | value._dispatch_mask & (ARRAYS | AUTOGRAD)
        convert = self._conversions.get(mask)
        if convert is None:
            convert = self._conversions[mask] = dc.fast_redispatch(dc.ops.aten._to_copy.default, mask)
        return convert(value, dtype, None, None, None, False, None)


def _lower_precision_fp(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    return call.run(*call.cast_all(values, dtype))


def _fp32(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    return call.run(*call.cast_all(values, float32))


def _fp32_set_opt_dtype(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    if call.is_eligible(values[call.tensors[0]]):
        named = [argument.name for argument in call.arguments]
        index = named.index("dtype")
        if values[index] is None:
            values = (*values[:index], float32, *values[index + 1 :])
    return call.run(*values)


def _fp32_append_dtype(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    first = values[call.tensors[0]]
    overload = getattr(dc.ops.aten.norm, _WITH_DTYPE[call.op.name])
    return overload.redispatch(call.below, *values, dtype=float32 if call.is_eligible(first) else first.dtype)


def _promote(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    target = dtype
    for each in call.each_tensor(values):
        if not call.is_eligible(each):
            continue
        if each.dtype is float32:
            target = float32
        elif each.dtype is not dtype and target is not float32:
            raise RuntimeError(
                "Unexpected floating ScalarType in at::autocast::prioritize\n"
                f"Hint: autocast computes in {dtype}; convert the {each.dtype} tensor to it or to float32"
            )
    return call.run(*call.cast_all(values, target))


def _refuse(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    raise RuntimeError(_BANNED)


_POLICIES: Final[dict[str, Callable[[OperatorCasts, tuple[Any, ...], ScalarType], Any]]] = {
    "lower_precision_fp": _lower_precision_fp,
    "fp32": _fp32,
    "fp32_set_opt_dtype": _fp32_set_opt_dtype,
    "fp32_append_dtype": _fp32_append_dtype,
    "promote": _promote,
    "banned": _refuse,
}


class _ArraysOf(dict[str, int]):
    """A backend → the mask of the keys of its arrays, dense and of every layout."""

    def __missing__(self, backend: str) -> int:
        found = sum(key.value for key in DispatchKey if key.owns_arrays and key.backend == backend)
        self[backend] = found
        return found


ARRAYS_OF: Final = _ArraysOf()
_LEVELS: Final[int] = (
    DispatchKey.FuncTorchDynamicLayerBackMode
    | DispatchKey.FuncTorchDynamicLayerFrontMode
    | DispatchKey.FuncTorchBatched
    | DispatchKey.FuncTorchVmapMode
)


#: Layers that stand above the key, and see a conversion as a call of its own.
_WATCHERS: Final[int] = DispatchKey.Profiler | DispatchKey.PythonTLSSnapshot


def _make_policy_kernel(device: str, key: DispatchKey, policy: str, op: Any, keyset: Any) -> Callable[..., Any]:
    call = OperatorCasts(op, keyset, device, key)
    arrays = keyset.mask & ARRAYS
    if not keyset.marker or (arrays and not arrays & ARRAYS_OF[key.backend]):
        # Raw arrays, which are no frontend's, and other devices'.
        return call.run
    run, act = call.run, _POLICIES[policy]

    def kernel(*values: Any) -> Any:
        choices = current_autocast()
        dtype = None if choices is None else choices.active.get(device)
        return run(*values) if dtype is None else act(call, values, dtype)

    return kernel


def _make_passing_kernel(key: DispatchKey, op: Any, keyset: Any) -> Callable[..., Any]:
    return dc.fast_redispatch(op, (keyset.mask | keyset.marker) & ~key.value)


def _make_kernel(device: str, key: DispatchKey, name: str) -> dc.KernelFactory | None:
    """Return the kernel of an operator; None where its parts are cast, if it has any."""
    policy = policies_of(device).get(name)
    if policy is not None:
        return dc.kernel_factory(partial(_make_policy_kernel, device, key, policy), in_order=True)
    operator = ATEN_BY_NAME[name]
    is_torchs = name in IMPLICIT and name not in policies.COMPOSED_HERE
    if is_torchs or "Tensor" not in operator.schema.partition("->")[0] or not composite_kernels(operator):
        return None
    return dc.kernel_factory(partial(_make_passing_kernel, key), in_order=True)


_prepared: Final[dict[str, dc.Library]] = {}


def prepare(device: str, backend: str) -> None:
    """Register the kernels of a device, once."""
    with dc.registry.lock:
        if device not in _prepared:
            key = DispatchKey(f"Autocast{backend}")
            # Below the program's registrations, as the kernels of autograd.
            with dc.registry.transaction(level="backend"):
                library = _prepared[device] = dc.Library("aten", "IMPL", key)
                library.impl_lazily(partial(_make_kernel, device, key))
