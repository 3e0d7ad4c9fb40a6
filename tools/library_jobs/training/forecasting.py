"""Train pytorch-forecasting's temporal fusion transformer and N-BEATS on two series."""

import lightning.pytorch as pl
import numpy as np
import pandas as pd
from job_values import report, weights
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer
from pytorch_forecasting.metrics import QuantileLoss

pl.seed_everything(0, verbose=False)
day = np.arange(40)
table = pd.DataFrame(
    {
        "day": np.tile(day, 2),
        "shop": np.repeat(["north", "south"], 40),
        "sold": np.concatenate([np.sin(day / 5) + 2, np.cos(day / 4) + 3]),
    }
)
common = {
    "time_idx": "day",
    "target": "sold",
    "group_ids": ["shop"],
    "max_encoder_length": 10,
    "max_prediction_length": 4,
}
rich = TimeSeriesDataSet(
    table,
    **common,
    static_categoricals=["shop"],
    time_varying_known_reals=["day"],
    time_varying_unknown_reals=["sold"],
    target_normalizer=GroupNormalizer(groups=["shop"]),
)
plain = TimeSeriesDataSet(
    table, **common, time_varying_unknown_reals=["sold"], min_encoder_length=10, min_prediction_length=4
)
values = {}
for rows, make, options in (
    (rich, TemporalFusionTransformer, {"hidden_size": 4, "attention_head_size": 1, "loss": QuantileLoss()}),
    (plain, NBeats, {"widths": [8, 16], "stack_types": ["trend", "seasonality"]}),
):
    # Not by Adam: it makes steps of full size of gradients that are rounding errors, as those of a single variable's weight.
    net = make.from_dataset(rows, learning_rate=0.01, log_interval=-1, optimizer="sgd", **options)
    first = weights(net)
    trainer = pl.Trainer(
        max_steps=3,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    loader = rows.to_dataloader(train=True, batch_size=8, num_workers=0)
    trainer.fit(net, train_dataloaders=loader)
    inputs, _ = next(iter(rows.to_dataloader(train=False, batch_size=4, num_workers=0)))
    values[make.__name__] = [first, weights(net), net.eval()(inputs)["prediction"][0, 0]]
report(**values)
