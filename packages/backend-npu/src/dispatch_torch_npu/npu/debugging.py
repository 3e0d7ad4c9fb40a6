"""Dumps of operators' arrays by the toolkit, and the time limit of a single operator."""

from __future__ import annotations

from dispatch_backend_npu import runtime

__all__ = ["finalize_dump", "init_dump", "set_dump", "set_op_timeout_ms"]


def init_dump() -> None:
    """Make the toolkit ready to write the arrays of operators to files (source: ``torch_npu.npu``)."""
    runtime.init_dump()


def set_dump(cfg_file: str) -> None:
    """Give the toolkit a configuration, a file of JSON that names the arrays to write (source: ``torch_npu.npu``)."""
    runtime.set_dump(cfg_file)


def finalize_dump() -> None:
    """End what `init_dump` has begun (source: ``torch_npu.npu``)."""
    runtime.finalize_dump()


def set_op_timeout_ms(timeout: int) -> None:
    """Set how many milliseconds a single operator may run on the device (source: ``torch_npu.npu``)."""
    runtime.set_op_timeout(timeout)
