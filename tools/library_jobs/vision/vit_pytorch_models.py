"""Train two of vit-pytorch's models."""

import torch
from job_values import report, train, weights
from vit_pytorch import SimpleViT, ViT

torch.manual_seed(0)
images = torch.randn(4, 3, 32, 32)
labels = torch.tensor([0, 1, 2, 3])
values = {}
sizes = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 48}
for model in (ViT(**sizes, dropout=0.1, emb_dropout=0.1), SimpleViT(**sizes)):
    first = weights(model)
    losses = train(lambda: torch.nn.functional.cross_entropy(model(images), labels), model.parameters())
    values[type(model).__name__] = [first, losses]
report(**values)
