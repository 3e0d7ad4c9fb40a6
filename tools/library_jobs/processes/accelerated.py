"""Train by accelerate's loop in two processes, with gathered values."""

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from job_values import report, weights
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
set_seed(0)
model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
rows = DataLoader(TensorDataset(torch.randn(32, 4), torch.arange(32) % 2), batch_size=4, shuffle=True)
model, optimizer, rows, schedule = accelerator.prepare(model, optimizer, rows, schedule)
losses = []
for _ in range(2):
    for inputs, targets in rows:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()))
told = gather_object([{"rank": accelerator.process_index}])
report(count=accelerator.num_processes, losses=losses, told=told, last=weights(accelerator.unwrap_model(model)))
accelerator.end_training()
