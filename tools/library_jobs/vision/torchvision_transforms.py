"""Change images with torchvision's transforms, both generations, boxes included."""

import random

import numpy as np
import torch
from job_values import report
from torchvision import tv_tensors
from torchvision.transforms import transforms as v1
from torchvision.transforms import v2

torch.manual_seed(0)
random.seed(0)
pixels = torch.from_numpy(np.random.RandomState(0).randint(0, 256, (3, 24, 20)).astype("uint8"))
changes = [
    v2.Resize((12, 16), antialias=True),
    v2.RandomResizedCrop(10),
    v2.RandomCrop(12),
    v2.RandomHorizontalFlip(1.0),
    v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
    v2.GaussianBlur(3),
    v2.RandomRotation(20),
    v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.2] * 3)]),
]
older = [v1.Resize(12), v1.CenterCrop(10), v1.RandomErasing(1.0), v1.Grayscale(3), v1.RandomPerspective(p=1.0)]
values = [[type(each).__name__, *out.shape, out.double().mean()] for each in changes + older if [out := each(pixels)]]
image = tv_tensors.Image(pixels)
boxes = tv_tensors.BoundingBoxes([[2, 3, 10, 12]], format="XYXY", canvas_size=(24, 20))
flipped, moved = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.Resize((12, 10))])(image, boxes)
report(
    values=values,
    kinds=[type(flipped).__name__, type(moved).__name__],
    flipped=flipped.double().mean(),
    moved=moved.tolist(),
    size=moved.canvas_size,
)
