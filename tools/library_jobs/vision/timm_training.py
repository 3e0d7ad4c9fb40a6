"""Train with timm's mixed images, losses, optimizers, schedules and averages of weights."""

import random

import numpy as np
import timm
import torch
from job_values import report, weights
from timm.data import Mixup
from timm.loss import AsymmetricLossMultiLabel, LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV2

torch.manual_seed(0)
np.random.seed(0)  # timm draws from it
random.seed(0)
torch.set_default_dtype(torch.float64)  # batch normalization of few values doubles rounding errors
model = timm.create_model("test_resnet", num_classes=5)
average = ModelEmaV2(model, decay=0.9)
mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=5)
images, labels = torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])
losses, rates = [], []
for name in ("sgd", "adamw", "lamb"):
    optimizer = create_optimizer_v2(model, opt=name, lr=1e-3, weight_decay=0.01)
    schedule = CosineLRScheduler(optimizer, t_initial=5, warmup_t=1, warmup_lr_init=1e-4)
    mixed, targets = mix(images.clone(), labels)
    loss = SoftTargetCrossEntropy()(model(mixed), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step(2)
    average.update(model)
    losses.append(loss)
    rates.append(optimizer.param_groups[0]["lr"])
logits = model(images)
smooth = LabelSmoothingCrossEntropy(0.1)(logits, labels)
many = AsymmetricLossMultiLabel()(logits, torch.eye(5)[labels])
report(losses=losses, rates=rates, smooth=smooth, many=many, average=weights(average.module))
