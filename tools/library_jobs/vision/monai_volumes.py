"""Train MONAI's U-Net on a volume with its transforms, loss and windows."""

import torch
from job_values import report, train, weights
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, RandFlip, RandGaussianNoise, ScaleIntensity
from monai.utils import set_determinism

set_determinism(0)
torch.manual_seed(0)
change = Compose([ScaleIntensity(), RandFlip(prob=1.0, spatial_axis=0), RandGaussianNoise(prob=1.0, std=0.1)])
volume = change(torch.rand(1, 16, 16, 16))
batch = torch.as_tensor(volume)[None]
labels = (batch > 0.5).float()
model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
first = weights(model)
loss = DiceCELoss(to_onehot_y=True, softmax=True)
losses = train(lambda: loss(model(batch), labels), model.parameters(), lr=0.05)
model.eval()
with torch.no_grad():
    logits = sliding_window_inference(batch, (8, 8, 8), 2, model)
score = DiceMetric()(logits.argmax(1, keepdim=True), labels)
report(volume=volume.mean(), first=first, losses=losses, logits=logits.mean((2, 3, 4)), score=score)
