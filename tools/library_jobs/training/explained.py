"""Explain a network's outputs by captum's methods."""

import numpy as np
import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Saliency,
)
from job_values import report, weights

torch.manual_seed(0)
np.random.seed(0)  # captum draws from it
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(4 * 36, 8),
    torch.nn.ReLU(),
    torch.nn.Linear(8, 3),
)
images = torch.randn(2, 1, 8, 8)
plain = torch.zeros_like(images)
gradients, gap = IntegratedGradients(model).attribute(images, plain, target=1, n_steps=8, return_convergence_delta=True)
shap = GradientShap(model)
report(
    first=weights(model),
    gradients=gradients.sum((1, 2, 3)),
    gap=gap,
    saliency=Saliency(model).attribute(images, target=1).sum((1, 2, 3)),
    lift=DeepLift(model).attribute(images, plain, target=1).sum((1, 2, 3)),
    shap=shap.attribute(images, torch.cat([plain, images]), target=1, n_samples=4).sum((1, 2, 3)),
    guided=GuidedBackprop(model).attribute(images, target=1).sum((1, 2, 3)),
    without=FeatureAblation(model).attribute(images, target=1).sum((1, 2, 3)),
    layer=LayerConductance(model, model[3]).attribute(images, plain, target=1, n_steps=8),
    regions=LayerGradCam(model, model[0]).attribute(images, target=1).sum((1, 2, 3)),
    noisy=NoiseTunnel(Saliency(model)).attribute(images, nt_samples=3, target=1).sum((1, 2, 3)),
)
