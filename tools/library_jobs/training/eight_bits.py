"""Train layers of bitsandbytes by its optimizer of eight bits, and pack weights in four."""

import bitsandbytes as bnb
import torch
from job_values import report, weights

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
first = weights(model)
packed, state = bnb.functional.quantize_4bit(model[0].weight.detach(), quant_type="nf4")
unpacked = bnb.functional.dequantize_4bit(packed, state)
blocks, scales = bnb.functional.quantize_blockwise(model[0].weight.detach())
layer = bnb.nn.Linear8bitLt(64, 4, has_fp16_weights=False)
layer.load_state_dict({"weight": torch.randn(4, 64), "bias": torch.zeros(4)}, strict=False)
report(
    first=first,
    four=(unpacked - model[0].weight).square().mean(),
    eight=(bnb.functional.dequantize_blockwise(blocks, scales) - model[0].weight).square().mean(),
    layer=layer(torch.randn(2, 64)).detach().float().mean(),
)
