"""Train three of torchvision's models, and take features out of the middle of one."""

import torch
from job_values import report, train, weights
from torchvision.models import mobilenet_v3_small, resnet18, vgg11
from torchvision.models.feature_extraction import create_feature_extractor

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # batch normalization of few values doubles rounding errors
images = torch.randn(4, 3, 64, 64)
labels = torch.tensor([0, 1, 2, 3])
values = {}
for make in (resnet18, mobilenet_v3_small):
    model = make(num_classes=5)
    first = weights(model)
    losses = train(lambda: torch.nn.functional.cross_entropy(model(images), labels), model.parameters(), 2, lr=0.01)
    values[make.__name__] = [first, losses]
middle = create_feature_extractor(vgg11(num_classes=5).eval(), {"features.5": "early", "features.12": "late"})
with torch.no_grad():
    maps = middle(images[:1])
report(maps={name: [*each.shape, each.std()] for name, each in maps.items()}, **values)
