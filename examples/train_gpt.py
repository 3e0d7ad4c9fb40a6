"""Train a small GPT on Shakespeare, character by character, and let it write.

    python examples/train_gpt.py                                   # 500 steps, then a sample
    python examples/train_gpt.py --checkpoint gpt.pt               # also saves every 100 steps
    python examples/train_gpt.py --checkpoint gpt.pt --resume      # goes on where the file ends
    python examples/train_gpt.py --mesh 8                          # on 8 devices of JAX: batches and weights in 8 parts
    mpirun -n 2 python examples/train_gpt.py --mpi                 # two processes, each with half of every batch

The same file runs under torch, with torchlike's modules in place of torch's.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torchlike
from torchlike import Tensor, distributed, nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn.parallel import DistributedDataParallel
from torchlike.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torchlike.utils.data import DataLoader, Dataset, DistributedSampler

TEXT = Path(__file__).with_name("data") / "tinyshakespeare.txt"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a character-level GPT through torchlike.")
    parser.add_argument("--text", type=Path, default=TEXT, help="what to learn (default: Shakespeare's plays)")
    parser.add_argument("--device", default="cpu", help="cpu (default) or any installed plugin's")
    parser.add_argument(
        "--mesh", type=int, default=0, metavar="N", help="train on N devices of JAX, virtual ones on a CPU"
    )
    parser.add_argument(
        "--mpi", action="store_true", help="train in the processes of mpirun, or of a launcher, together"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the order and the sample (default: 0)")
    parser.add_argument("--checkpoint", type=Path, help="save the state of the training to this file")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--until", type=int, help="stop after this step, to go on later (default: the last)")
    sizes = {
        "steps": (500, "batches to train on"),
        "batch-size": (16, "sequences per step"),
        "block": (64, "characters per sequence"),
        "layers": (4, "blocks of attention and feed-forward layers"),
        "heads": (4, "heads of attention"),
        "width": (64, "size of a character's vector"),
        "sample": (300, "characters to write at the end"),
        "save-every": (100, "steps between checkpoints"),
    }
    for name, (default, text) in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default: {default})")
    arguments = parser.parse_args()
    for name in sizes:
        if getattr(arguments, name.replace("-", "_")) < 1:
            parser.error(f"argument --{name}: must be at least 1")
    if arguments.width % arguments.heads:
        parser.error(f"argument --width: {arguments.width} is no multiple of {arguments.heads} heads")
    if arguments.mesh:
        arguments.device = "jax"
        if arguments.batch_size % arguments.mesh:
            parser.error(
                f"argument --mesh: a batch of {arguments.batch_size} is not cut in {arguments.mesh} equal parts"
            )
    if arguments.mpi and arguments.batch_size % make_group():
        parser.error(f"argument --mpi: a batch of {arguments.batch_size} has no equal parts for all processes")
    if arguments.resume and (arguments.checkpoint is None or not arguments.checkpoint.exists()):
        parser.error("argument --resume: needs --checkpoint FILE, and that file")
    return arguments


class Windows(Dataset):
    """All sequences of a text, each with the characters that follow its own."""

    def __init__(self, codes: Tensor, block: int) -> None:
        self.codes, self.block = codes, block

    def __len__(self) -> int:
        return len(self.codes) - self.block

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        window = self.codes[index : index + self.block + 1]
        return window[:-1], window[1:]


class Attention(nn.Module):
    """Every character looks at those before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return a mix of the values of each character and those before it."""
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.mix(x).chunk(3, dim=-1)
        )
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project(found.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before_attention, self.before_network = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with the results of attention and network added."""
        x = x + self.attention(self.before_attention(x))
        return x + self.network(self.before_network(x))


class GPT(nn.Module):
    """A decoder of transformer blocks, whose last layer shares its weight with the first."""

    def __init__(self, characters: int, block: int, layers: int, heads: int, width: int) -> None:
        super().__init__()
        self.block = block
        self.characters, self.places = nn.Embedding(characters, width), nn.Embedding(block, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        self.apply(self.fill)
        self.head.weight = self.characters.weight

    @staticmethod
    def fill(module: nn.Module) -> None:
        """Fill weights with small numbers, and biases with zeros."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, codes: Tensor) -> Tensor:
        """Return the scores of each next character."""
        places = torchlike.arange(codes.shape[1], device=codes.device)
        x = self.characters(codes) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torchlike.no_grad()
    def write(self, codes: Tensor, count: int) -> Iterator[int]:
        """Yield characters that follow ``codes``, each drawn by the model's probabilities."""
        for _ in range(count):
            scores = self(codes[:, -self.block :])[:, -1]
            drawn = torchlike.multinomial(F.softmax(scores, dim=-1), 1)
            codes = torchlike.cat([codes, drawn], dim=1)
            yield int(drawn)


def make_optimizer(model: nn.Module, steps: int) -> tuple[Any, Any]:
    """Make AdamW, which lets matrices decay and nothing else, and a schedule that warms up and falls along a cosine."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torchlike.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))
    warm = min(20, max(1, steps // 5))
    schedule = SequentialLR(
        optimizer,
        [LinearLR(optimizer, 0.1, total_iters=warm), CosineAnnealingLR(optimizer, max(1, steps - warm), eta_min=3e-4)],
        [warm],
    )
    return optimizer, schedule


def make_mesh(count: int) -> Any:
    """Return a mesh of devices, which a CPU has as many of as it is told before JAX is imported; None for no device."""
    if not count:
        return None
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={count}")
    from torchlike.distributed.device_mesh import init_device_mesh  # a program of one device needs none of these

    return init_device_mesh("jax", (count,))


def spread(mesh: Any, *tensors: Tensor) -> Any:
    """Return tensors that are cut along their first dimension over a mesh."""
    from torchlike.distributed.tensor import Shard, distribute_tensor

    return (distribute_tensor(each, mesh, [Shard(0)]) for each in tensors)


def make_group() -> int:
    """Make the group of all processes, which may be this one alone; return their number."""
    count = int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
    alone = {"rank": 0, "world_size": 1} if count == 1 else {}
    distributed.init_process_group(**alone)
    return count


def batches(data: Windows, arguments: argparse.Namespace, start: int) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield the numbers of the steps from ``start`` on, each with its batch, in an order that depends on the seed alone."""
    epoch_length = len(data) // arguments.batch_size
    step = start - start % epoch_length
    end = arguments.steps if arguments.until is None else min(arguments.steps, arguments.until)
    while step < end:
        order = torchlike.Generator()
        order.manual_seed(arguments.seed + step // epoch_length)
        if arguments.mpi:
            sampler = DistributedSampler(data, seed=arguments.seed, drop_last=True)
            sampler.set_epoch(step // epoch_length)
            own = arguments.batch_size // distributed.get_world_size()
            loader = DataLoader(data, own, sampler=sampler, drop_last=True)
        else:
            loader = DataLoader(data, arguments.batch_size, shuffle=True, drop_last=True, generator=order)
        for inputs, targets in loader:
            if step >= end:
                return
            if step >= start:
                yield step, inputs.to(arguments.device), targets.to(arguments.device)
            step += 1


def train(arguments: argparse.Namespace) -> None:
    """Train, save, and write a sample."""
    text = arguments.text.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    codes = torchlike.tensor([alphabet.index(character) for character in text])
    split = len(codes) * 9 // 10
    data, held_out = Windows(codes[:split], arguments.block), Windows(codes[split:], arguments.block)
    if min(len(data), len(held_out)) < arguments.batch_size:
        sys.exit(f"train_gpt: {arguments.text} is too short for sequences of {arguments.block} characters")
    torchlike.manual_seed(arguments.seed)
    mesh = make_mesh(arguments.mesh)
    model = GPT(len(alphabet), arguments.block, arguments.layers, arguments.heads, arguments.width).to(arguments.device)
    if mesh is not None:
        from torchlike.distributed.fsdp import fully_shard

        fully_shard(model, mesh=mesh)
    trained = DistributedDataParallel(model) if arguments.mpi else model
    tells = not arguments.mpi or distributed.get_rank() == 0
    optimizer, schedule = make_optimizer(model, arguments.steps)
    start = 0
    if arguments.resume:
        state = torchlike.load(arguments.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        start = state["step"]
    if arguments.resume and tells:
        print(f"resumed at step {start}")
    if tells:
        print(f"{sum(each.numel() for each in model.parameters()):,} parameters, {len(alphabet)} characters")
    begin = time.perf_counter()
    for step, *pair in batches(data, arguments, start):
        inputs, targets = pair if mesh is None else spread(mesh, *pair)
        loss = F.cross_entropy(trained(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        done = step + 1
        is_last = done in (arguments.steps, arguments.until)
        if arguments.mpi and (done % 10 == 0 or is_last):
            loss = loss.detach()
            distributed.all_reduce(loss, distributed.ReduceOp.AVG)
        if tells and (done % 10 == 0 or is_last):
            print(f"step {done} loss {loss.item():.6f} rate {schedule.get_last_lr()[0]:.6f}", flush=True)
        if tells and arguments.checkpoint is not None and (done % arguments.save_every == 0 or is_last):
            parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
            saved = {name: part.state_dict() for name, part in parts.items()}
            torchlike.save({**saved, "step": done, "alphabet": "".join(alphabet)}, arguments.checkpoint)
    if arguments.mpi:
        distributed.destroy_process_group()
    if not tells:
        return
    print(f"trained for {time.perf_counter() - begin:.1f} s; held-out loss {evaluate(model, held_out, arguments):.4f}")
    model.eval()
    prompt = torchlike.zeros((1, 1), dtype=torchlike.int64, device=arguments.device)
    print("".join(alphabet[code] for code in model.write(prompt, arguments.sample)))


@torchlike.no_grad()
def evaluate(model: nn.Module, data: Windows, arguments: argparse.Namespace) -> float:
    """Return the mean loss over the first batches of held-out text, in nats a character."""
    losses = []
    for number, (inputs, targets) in enumerate(DataLoader(data, arguments.batch_size)):
        if number == 8:
            break
        scores = model(inputs.to(arguments.device))
        losses.append(F.cross_entropy(scores.flatten(0, 1), targets.flatten().to(arguments.device)).item())
    return math.fsum(losses) / len(losses)


if __name__ == "__main__":
    train(parse_arguments())
