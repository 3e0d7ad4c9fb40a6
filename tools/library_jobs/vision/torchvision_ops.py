"""Use torchvision's operators that are written in Python: losses of boxes, pyramids of features, layers."""

import torch
from job_values import report, train, weights
from torchvision import ops

torch.manual_seed(0)
corners = torch.rand(6, 2, 2).sort(1).values.reshape(6, 4)
boxes, others = corners[:3].clone().requires_grad_(), corners[3:]
losses = {
    each.__name__: each(boxes, others, reduction="sum")
    for each in (ops.generalized_box_iou_loss, ops.distance_box_iou_loss, ops.complete_box_iou_loss)
}
(slope,) = torch.autograd.grad(sum(losses.values()), boxes)
focal = ops.sigmoid_focal_loss(torch.randn(4, 3), torch.eye(4, 3), reduction="mean")
pyramid = ops.FeaturePyramidNetwork([8, 16], 12)
levels = pyramid({"fine": torch.randn(1, 8, 16, 16), "coarse": torch.randn(1, 16, 8, 8)})
layers = torch.nn.Sequential(
    ops.Conv2dNormActivation(3, 8),
    ops.SqueezeExcitation(8, 4),
    ops.DropBlock2d(0.2, 3),
    ops.StochasticDepth(0.2, "row"),
)
first = weights(layers)
images = torch.randn(4, 3, 12, 12)
steps = train(lambda: layers(images).square().mean(), layers.parameters())
report(
    losses=losses,
    slope=slope,
    focal=focal,
    overlaps=ops.box_iou(boxes, others),
    converted=ops.box_convert(boxes, "xyxy", "cxcywh"),
    levels={name: [*each.shape, each.std()] for name, each in levels.items()},
    first=first,
    steps=steps,
)
