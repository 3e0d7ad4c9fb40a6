"""Train a classifier of tables by fastai's learner, and a network by its cycle."""

import tempfile

import numpy as np
import pandas as pd
import torch
from fastai.basics import DataLoaders, Learner, accuracy
from fastai.data.core import DataLoader
from fastai.tabular.all import Categorify, Normalize, TabularDataLoaders, set_seed, tabular_learner
from job_values import report, weights

set_seed(0)
draws = np.random.RandomState(0)  # its draws never change
table = pd.DataFrame(
    {"size": draws.randn(64), "kind": draws.choice(list("abc"), 64), "good": draws.choice(["no", "yes"], 64)}
)
with tempfile.TemporaryDirectory() as folder:
    loaders = TabularDataLoaders.from_df(
        table, folder, [Categorify, Normalize], ["kind"], ["size"], y_names="good", valid_idx=list(range(48, 64)), bs=16
    )
    learner = tabular_learner(loaders, layers=[8], metrics=accuracy, path=folder)
    first = weights(learner.model)
    with learner.no_bar(), learner.no_logging():
        learner.fit(2, 0.01)
values = [list(each) for each in learner.recorder.values]
pairs = [(row, row.sum(0, keepdim=True)) for row in torch.randn(24, 4)]
rows = DataLoaders(DataLoader(pairs[:16], bs=4, shuffle=True), DataLoader(pairs[16:], bs=8))
plain = Learner(rows, torch.nn.Linear(4, 1), loss_func=torch.nn.MSELoss())
with plain.no_bar(), plain.no_logging():
    plain.fit_one_cycle(2, 0.01)
report(first=first, values=values, plain=[list(each) for each in plain.recorder.values], last=weights(plain.model))
