"""Train three kinds of timm's models: residual, mobile and transformer."""

import timm
import torch
from job_values import report, train, weights

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # batch normalization of few values doubles rounding errors
images = torch.randn(4, 3, 64, 64)
labels = torch.tensor([0, 1, 2, 3])
values = {}
for name in ("test_resnet", "test_efficientnet", "test_vit"):
    model = timm.create_model(name, num_classes=5)
    first = weights(model)
    losses = train(lambda: torch.nn.functional.cross_entropy(model(images), labels), model.parameters(), lr=0.01)
    values[name] = [first, losses]
report(**values)
