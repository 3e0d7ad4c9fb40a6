"""Take the feature maps between the stages of timm's models, by hooks and by a traced graph."""

import timm
import torch
from job_values import report
from timm.models import FeatureGraphNet

torch.manual_seed(0)
images = torch.randn(2, 3, 64, 64)
pyramid = timm.create_model("test_resnet", features_only=True).eval()
whole = timm.create_model("test_vit", num_classes=5).eval()
graph = FeatureGraphNet(timm.create_model("test_resnet", num_classes=5).eval(), out_indices=(1, 3))
with torch.no_grad():
    maps = pyramid(images)
    last, between = whole.forward_intermediates(torch.randn(2, 3, *whole.patch_embed.img_size))
    traced = graph(images)
report(
    channels=pyramid.feature_info.channels(),
    maps=[[*each.shape, each.mean(), each.std()] for each in maps],
    between=[[*each.shape, each.std()] for each in between],
    last=last.std(),
    traced=[[*each.shape, each.std()] for each in traced],
)
