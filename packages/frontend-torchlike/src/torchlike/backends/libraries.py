"""The libraries, as objects whose settings are kept and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any, Final

__all__ = ["LIBRARIES", "AbsentLibrary"]


class AbsentLibrary(ModuleType):
    """A library that is not used: questions are answered by False and None, settings are kept."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(
            f"torchlike.backends.{name}", f"A library that is not used (source: ``torch.backends.{name}``)."
        )
        vars(self).update(settings)

    def is_available(self) -> bool:
        """Return False."""
        return False

    is_built = is_available

    def version(self) -> None:
        """Return None."""

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Keep other settings within a block."""
        before = {name: vars(self).get(name) for name in settings}
        vars(self).update(settings)
        try:
            yield
        finally:
            vars(self).update(before)

    def set_flags(self, **settings: Any) -> tuple[Any, ...]:
        """Keep other settings; return those before."""
        before = tuple(vars(self).get(name) for name in settings)
        vars(self).update(settings)
        return before


def _get_true() -> bool:
    return True


def _get_false(*args: Any) -> bool:
    return False


def _set(value: Any) -> None:
    pass


@contextmanager
def _choose_attention(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Choose nothing within a block: there is one kernel of attention (source: ``torch.backends.cuda.sdp_kernel``)."""
    yield


class _Verbose(nullcontext[None]):
    """Print nothing of a library's calls within a block (source: ``torch.backends.mkl.verbose``)."""

    def __init__(self, enable: Any) -> None:
        super().__init__()


#: Instructions as NumPy names them, in releases one after the other → torch's word.
_CAPABILITIES: Final = {"X86_V4": "AVX512", "AVX512_SKX": "AVX512", "X86_V3": "AVX2", "AVX2": "AVX2"}


def _get_capability() -> str:
    """Return the widest vector instructions of the processor, as torch would: libraries choose between two ways by it.

    torchvision resizes images of uint8 as they are where there is AVX2, and by way of float32 elsewhere.
    """
    import numpy as np

    told: Any = np.show_config(mode="dicts")
    has = {*told["SIMD Extensions"].get("baseline", ()), *told["SIMD Extensions"].get("found", ())}
    return next((word for name, word in _CAPABILITIES.items() if name in has), "DEFAULT")


def _is_acceptable(tensor: Any) -> bool:
    return False


#: The library's name → the object.
LIBRARIES: Final = {
    "cpu": AbsentLibrary("cpu", get_cpu_capability=_get_capability),
    "cuda": AbsentLibrary(
        "cuda",
        matmul=AbsentLibrary(
            "cuda.matmul",
            allow_tf32=False,
            allow_fp16_reduced_precision_reduction=True,
            allow_bf16_reduced_precision_reduction=True,
        ),
        cufft_plan_cache=AbsentLibrary("cuda.cufft_plan_cache", size=0, max_size=0),
        **{f"{kind}_sdp_enabled": _get_true for kind in ("flash", "math", "mem_efficient", "cudnn")},
        sdp_kernel=_choose_attention,
        can_use_cudnn_attention=_get_false,
        can_use_efficient_attention=_get_false,
        can_use_flash_attention=_get_false,
        is_flash_attention_available=_get_false,
        **{f"enable_{kind}_sdp": _set for kind in ("flash", "math", "mem_efficient", "cudnn")},
    ),
    "cudnn": AbsentLibrary(
        "cudnn",
        enabled=True,
        benchmark=False,
        deterministic=False,
        allow_tf32=True,
        benchmark_limit=10,
        is_acceptable=_is_acceptable,
    ),
    "cusparselt": AbsentLibrary("cusparselt"),
    "mha": AbsentLibrary("mha"),
    "mkl": AbsentLibrary("mkl", verbose=_Verbose, VERBOSE_OFF=0, VERBOSE_ON=1),
    "mkldnn": AbsentLibrary(
        "mkldnn", enabled=True, deterministic=False, allow_tf32=True, verbose=_Verbose, VERBOSE_OFF=0, VERBOSE_ON=1
    ),
    "mps": AbsentLibrary("mps"),
    "nnpack": AbsentLibrary("nnpack"),
    "openmp": AbsentLibrary("openmp"),
    "opt_einsum": AbsentLibrary("opt_einsum", enabled=True, strategy="auto"),
    "quantized": AbsentLibrary(
        "quantized", engine="x86", supported_engines=["qnnpack", "none", "onednn", "x86", "fbgemm"]
    ),
    "xeon": AbsentLibrary("xeon"),
    "xnnpack": AbsentLibrary("xnnpack", enabled=False),
}
