"""Train a module of Lightning in two processes, by its own steps and by the trainer's."""

import tempfile

import lightning
import torch
from job_values import report, weights
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(lightning.LightningModule):
    """A small network that notes its losses, and may call its optimizer itself."""

    def __init__(self, is_manual):
        super().__init__()
        self.layers, self.losses = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), []
        self.automatic_optimization = not is_manual

    def training_step(self, batch, number):
        loss = nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True)
        self.losses.append(loss.item())
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def validation_step(self, batch, number):
        self.log("checked", nn.functional.mse_loss(self.layers(batch[0]), batch[1]), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


found = {}
for is_manual in (False, True):
    lightning.seed_everything(0, verbose=False)
    net, rows = Net(is_manual), TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=2,
            strategy="ddp",
            max_epochs=2,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        trainer.fit(net, DataLoader(rows, 4), DataLoader(rows, 8))
    metrics = dict(trainer.callback_metrics)
    found[f"manual {is_manual}"] = {"losses": net.losses, "metrics": metrics, "last": weights(net)}
report(**found)
