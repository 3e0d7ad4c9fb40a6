"""Train a small convolutional network on the UCI handwritten digits as images of 8 by 8.

    python examples/train_images.py        # ends above 98 % in less than a minute

Needs scikit-learn, which carries the 1,797 images. The same file runs under torch.
"""

from __future__ import annotations

import argparse
import time

import torchlike
from torchlike import Tensor, nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.optim.lr_scheduler import OneCycleLR
from torchlike.utils.data import DataLoader, TensorDataset, random_split


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a convolutional network through torchlike.")
    parser.add_argument("--device", default="cpu", help="cpu (default) or any installed plugin's")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images (default: 12)")
    parser.add_argument("--batch-size", type=int, default=64, help="images per step (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the order (default: 0)")
    arguments = parser.parse_args()
    for name in ("epochs", "batch_size"):
        if getattr(arguments, name) < 1:
            parser.error(f"argument --{name.replace('_', '-')}: must be at least 1")
    return arguments


class Network(nn.Module):
    """Two convolutions with batch norm, a pooling after each, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.classify = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 2 * 2, 10))

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores of the ten digits."""
        return self.classify(self.features(images))


def load_digits() -> TensorDataset:
    """Return the images, with values from 0 to 1, and their labels."""
    from sklearn.datasets import load_digits as read

    digits = read()
    images = torchlike.tensor(digits.images, dtype=torchlike.float32).unsqueeze(1) / 16
    return TensorDataset(images, torchlike.tensor(digits.target, dtype=torchlike.int64))


@torchlike.no_grad()
def accuracy(model: nn.Module, loader: DataLoader, device: str) -> float:
    """Return the share of images whose label the model finds."""
    model.eval()
    right = total = 0
    for images, labels in loader:
        found = model(images.to(device)).argmax(dim=1)
        right += int((found == labels.to(device)).sum())
        total += len(labels)
    return right / total


def main() -> None:
    """Train, and report the accuracy on images that the network has not seen."""
    arguments = parse_arguments()
    torchlike.manual_seed(arguments.seed)
    data = load_digits()
    train_set, test_set = random_split(data, [0.8, 0.2], generator=torchlike.Generator().manual_seed(arguments.seed))
    loader = DataLoader(train_set, arguments.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, 256)
    model = Network().to(arguments.device)
    optimizer = torchlike.optim.Adam(model.parameters())
    schedule = OneCycleLR(optimizer, max_lr=1e-2, total_steps=arguments.epochs * len(loader))
    begin = time.perf_counter()
    for epoch in range(arguments.epochs):
        model.train()
        for images, labels in loader:
            loss = F.cross_entropy(model(images.to(arguments.device)), labels.to(arguments.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1} loss {loss.item():.4f}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"accuracy on {len(test_set)} held-out images: {accuracy(model, test_loader, arguments.device):.2%}")
    print(f"trained on {len(train_set)} images in {seconds:.1f} s")


if __name__ == "__main__":
    main()
