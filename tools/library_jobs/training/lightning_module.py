"""Train a module of Lightning with its trainer, and read its checkpoint back."""

import tempfile

import lightning as L
import torch
from job_values import report, weights
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    """A small network that notes its losses."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
        self.losses: list[float] = []

    def training_step(self, batch, number):
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, number):
        self.log("checked", torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


L.seed_everything(0, verbose=False)
rows = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
net = Net()
first = weights(net)
with tempfile.TemporaryDirectory() as folder:
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(net, DataLoader(rows, 4, shuffle=True), DataLoader(rows, 8))
    trainer.save_checkpoint(f"{folder}/net.ckpt")
    again = Net.load_from_checkpoint(f"{folder}/net.ckpt", weights_only=False)
checked = trainer.callback_metrics["checked"]
report(first=first, losses=net.losses, checked=checked, last=weights(net), same=weights(again) == weights(net))
