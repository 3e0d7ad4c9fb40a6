"""Train diffusers' U-Net on noise, and draw an image by its pipeline."""

import torch
from diffusers import DDIMPipeline, DDIMScheduler, DDPMScheduler, UNet2DModel
from job_values import report, train, weights

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    layers_per_block=1,
    norm_num_groups=4,
    attention_head_dim=4,
)
first = weights(model)
schedule = DDPMScheduler(num_train_timesteps=20)
images, noise, times = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.tensor([3, 15])
noisy = schedule.add_noise(images, noise, times)
losses = train(lambda: (model(noisy, times).sample - noise).square().mean(), model.parameters(), lr=0.05)
pipeline = DDIMPipeline(model, DDIMScheduler(num_train_timesteps=20))
pipeline.set_progress_bar_config(disable=True)
drawn = pipeline(
    batch_size=1, num_inference_steps=3, output_type="np", generator=torch.Generator().manual_seed(1)
).images
report(first=first, losses=losses, drawn=drawn.mean((0, 1, 2)), corner=drawn[0, :2, :2])
