"""Write tensors and a model by safetensors, and read them back whole, in slices and into a model."""

import tempfile

import torch
from job_values import report, weights
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
tensors = {
    "a": torch.randn(3, 4),
    "b": torch.arange(5),
    "c": torch.randn(2, 2).bfloat16(),
    "d": torch.tensor([True, False]),
}
model, other = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
with tempfile.TemporaryDirectory() as folder:
    save_file(tensors, f"{folder}/t.safetensors", metadata={"by": "job"})
    again = load_file(f"{folder}/t.safetensors")
    with safe_open(f"{folder}/t.safetensors", framework="pt") as file:
        parts = [file.keys(), file.metadata(), file.get_slice("a")[1:, :2], file.get_tensor("c").float()]
    save_model(model, f"{folder}/m.safetensors")
    load_model(other, f"{folder}/m.safetensors")
report(
    again={name: [each.dtype, each.float()] for name, each in again.items()},
    parts=parts,
    same=weights(model) == weights(other),
    bytes=len(save(tensors)),
)
