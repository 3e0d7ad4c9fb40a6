"""Train a module of Lightning with its trainer, and read its checkpoint back."""

import lightning
from job_values import train_by_lightning

lightning.seed_everything(0, verbose=False)
train_by_lightning(lightning)
