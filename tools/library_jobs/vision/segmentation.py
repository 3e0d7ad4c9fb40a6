"""Train a U-Net and a feature pyramid of segmentation-models with its losses."""

import segmentation_models_pytorch as smp
import torch
from job_values import report, train, weights

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # batch normalization of few values doubles rounding errors
images = torch.randn(2, 3, 64, 64)
masks = (torch.rand(2, 1, 64, 64) > 0.5).double()
values = {}
for make, loss in ((smp.Unet, smp.losses.DiceLoss("binary")), (smp.FPN, smp.losses.FocalLoss("binary"))):
    model = make("resnet18", encoder_weights=None, classes=1)
    first = weights(model)
    losses = train(lambda: loss(model(images), masks), model.parameters(), 2, lr=0.01)
    values[make.__name__] = [first, losses]
counts = smp.metrics.get_stats(torch.sigmoid(model(images)), masks.long(), mode="binary", threshold=0.5)
report(score=smp.metrics.iou_score(*counts, reduction="micro"), **values)
