"""Train by ignite's engine in two processes, with metrics of both."""

import ignite.distributed as idist
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from job_values import report, weights
from torch import nn
from torch.utils.data import TensorDataset

idist.initialize("gloo")
torch.manual_seed(0)
rows = TensorDataset(torch.randn(32, 4), torch.arange(32) % 2)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
model = idist.auto_model(net)
optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=0.1))
batches = idist.auto_dataloader(rows, batch_size=8, shuffle=True)
trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())})
losses = []
trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
trainer.run(batches, 2)
evaluator.run(batches)
report(count=idist.get_world_size(), losses=losses, metrics=evaluator.state.metrics, last=weights(net))
idist.finalize()
