"""Operators of torch_npu as compositions of torch's: each is a formula, with gradients, on tensors of any device."""
