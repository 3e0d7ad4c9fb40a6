"""Train a module of PyTorch Lightning with its trainer, and read its checkpoint back."""

import pytorch_lightning
from job_values import train_by_lightning

pytorch_lightning.seed_everything(0, verbose=False)
train_by_lightning(pytorch_lightning)
