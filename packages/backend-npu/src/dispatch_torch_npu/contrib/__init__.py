"""``torch_npu.contrib``: programs for CUDA on this device, by ``import torch_npu.contrib.transfer_to_npu``."""
