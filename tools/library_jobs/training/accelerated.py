"""Train by accelerate's loop, with gathered gradients and a saved state."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from job_values import report, weights
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
first = weights(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
rows = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=4, shuffle=True)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer, rows, schedule = accelerator.prepare(model, optimizer, rows, schedule)
losses = []
for inputs, targets in rows:
    with accelerator.accumulate(model):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    losses.append(accelerator.gather(loss))
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    last = weights(model)
    with torch.no_grad():
        next(model.parameters()).zero_()
    accelerator.load_state(folder)
report(first=first, losses=losses, last=last, same=weights(model) == last, rate=schedule.get_last_lr())
