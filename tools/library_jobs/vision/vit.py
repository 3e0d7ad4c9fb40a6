"""Train transformers' vision transformer."""

import torch
from job_values import report, train, weights
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
config = ViTConfig(
    image_size=16,
    patch_size=4,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=37,
    num_labels=5,
)
model = ViTForImageClassification(config)
first = weights(model)
images = torch.randn(4, 3, 16, 16)
labels = torch.tensor([0, 1, 2, 3])
losses = train(lambda: model(pixel_values=images, labels=labels).loss, model.parameters())
report(first=first, losses=losses, last=weights(model))
