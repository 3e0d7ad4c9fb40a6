"""Use tensordict's dictionaries as tensors, and train modules that read and write their keys."""

import torch
from job_values import report, train, weights
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
rows = TensorDict({"seen": torch.randn(6, 4), "inner": {"label": torch.arange(6)}}, batch_size=[6])
model = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(4, 8), in_keys=["seen"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Linear(8, 3), in_keys=["hidden"], out_keys=["scores"]),
)
first = weights(model)
labels = rows["inner", "label"] % 3
losses = train(lambda: torch.nn.functional.cross_entropy(model(rows.clone())["scores"], labels), model.parameters())
stacked = torch.stack([rows[:3], rows[3:]])
joined = torch.cat([rows, rows * 2])
report(
    first=first,
    losses=losses,
    stacked=[list(stacked.batch_size), stacked["seen"].sum()],
    joined=[list(joined.batch_size), joined["seen"].sum()],
    moved=rows.apply(lambda each: each.float() + 1)["inner", "label"],
    flat=sorted(rows.flatten_keys(".").keys()),
    shape=list(rows.reshape(2, 3).batch_size),
)
