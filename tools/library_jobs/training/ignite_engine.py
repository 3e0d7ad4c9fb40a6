"""Train by ignite's engine, with metrics and handlers."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, PiecewiseLinear
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage
from job_values import report, weights
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
first = weights(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
rows = DataLoader(TensorDataset(torch.randn(18, 4), torch.arange(18) % 3), batch_size=6, shuffle=True)
trainer = create_supervised_trainer(model, optimizer, criterion)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "average")
metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "confusion": ConfusionMatrix(3)}
evaluator = create_supervised_evaluator(model, metrics=metrics)
stop = EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer)
evaluator.add_event_handler(Events.COMPLETED, stop)
trainer.add_event_handler(Events.ITERATION_STARTED, PiecewiseLinear(optimizer, "lr", [(0, 0.1), (10, 0.01)]))
losses = []
trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run(rows))
trainer.run(rows, max_epochs=2)
report(first=first, losses=losses, average=trainer.state.metrics["average"], **evaluator.state.metrics)
