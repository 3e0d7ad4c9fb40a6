"""Filter and move images with kornia, and learn an alignment by gradients."""

import kornia
import torch
from job_values import report, train

torch.manual_seed(0)
images = torch.rand(2, 3, 24, 20)
blurred = kornia.filters.gaussian_blur2d(images, (3, 3), (1.0, 1.0))
edges = kornia.filters.sobel(images)
tones = kornia.color.rgb_to_hsv(images)
turned = kornia.geometry.rotate(images, torch.tensor([10.0, 20.0]))
change = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomHorizontalFlip(p=1.0),
    kornia.augmentation.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0),
    kornia.augmentation.RandomAffine(15.0, p=1.0),
)
angle = torch.zeros(2, requires_grad=True)
losses = train(lambda: (kornia.geometry.rotate(images, angle) - turned).square().mean(), [angle], lr=100.0)
report(
    blurred=blurred.mean((2, 3)),
    edges=edges.mean((2, 3)),
    tones=tones.mean((2, 3)),
    changed=change(images).mean((2, 3)),
    likeness=kornia.metrics.ssim(images, blurred, 5).mean(),
    losses=losses,
    angle=angle,
)
