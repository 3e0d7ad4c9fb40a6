"""Schemas of padding, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0, *, Tensor(a!) out) -> Tensor(a!)
pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor
_pad_circular(Tensor self, SymInt[] pad) -> Tensor
_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor
reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor
reflection_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)
reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor
reflection_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)
reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor
reflection_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)
reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor
reflection_pad1d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[2] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
reflection_pad2d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[4] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor
reflection_pad3d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[6] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor
replication_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)
replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
replication_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)
replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
replication_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)
replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor
replication_pad1d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[2] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
replication_pad2d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[4] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor
replication_pad3d_backward.grad_input(Tensor grad_output, Tensor self, SymInt[6] padding, *, Tensor(a!) grad_input)
    -> Tensor(a!)
"""
