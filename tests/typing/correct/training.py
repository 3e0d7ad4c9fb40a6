"""Networks and their training."""

from __future__ import annotations

import math
from typing import Any

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import Tensor, nn, optim
from torchlike.optim.lr_scheduler import CosineAnnealingLR, StepLR
from torchlike.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

a, b = torch.zeros(2, 3), torch.ones(2, 3)
x = torch.tensor([1.0, 2.0], requires_grad=True)


class MLP(nn.Module):
    def __init__(self, d_in: int, d_hidden: int, d_out: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, d_out, bias=False)
        self.norm = nn.LayerNorm(d_hidden)
        self.drop = nn.Dropout(p=0.1)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("table", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.fc1(x))
        x = self.drop(self.norm(x))
        out: Tensor = self.fc2(x) * self.scale + self.table[0]
        return out


class PositionalEncoding(nn.Module):
    pe: Tensor

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.size(0)]


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, (3, 3), stride=(1, 1), padding="same"),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Flatten(),
        )
        self.blocks = nn.ModuleList([nn.Linear(32, 32) for _ in range(2)])
        self.heads = nn.ModuleDict({"a": nn.Linear(32, 10)})

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        for block in self.blocks:
            x = torch.tanh(block(x))
        return F.log_softmax(self.heads["a"](x), dim=1)


class Toy(Dataset[tuple[Tensor, int]]):
    def __init__(self, n: int) -> None:
        self.data = torch.randn(n, 4)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.data[index], index % 2


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return 2 * x * grad


class Power(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, exponent: int) -> Tensor:
        return x**exponent

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.exponent = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return ctx.exponent * x ** (ctx.exponent - 1) * grad, None


def train(
    model: nn.Module, loader: DataLoader[Any], optimizer: optim.Optimizer, loss_fn: nn.Module, device: torch.device
) -> float:
    model.train()
    running = 0.0
    correct = 0
    count = 0
    for batch_idx, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = loss_fn(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        running += loss.item() * inputs.size(0)
        correct += (outputs.argmax(1) == targets).sum().item()
        count += len(inputs)
        if batch_idx % 10 == 0:
            print(f"{loss.item():.4f}")
    return running / count


@torch.no_grad()
def evaluate(model: nn.Module, data: Tensor) -> float:
    model.eval()
    return float(model(data).mean().item())


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = MLP(4, 8, 2).to(device)
opt = optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4, betas=(0.9, 0.999))
opt2 = optim.SGD([{"params": model.fc1.parameters(), "lr": 0.1}, {"params": [model.scale]}], lr=0.01, momentum=0.9)
sched = StepLR(opt, step_size=10, gamma=0.5)
sched2 = CosineAnnealingLR(opt, T_max=10)
dataset = Toy(32)
loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=0, drop_last=False)
tds = TensorDataset(torch.randn(4, 2), torch.arange(4))
train_set, val_set = random_split(dataset, [24, 8])
joined: DataLoader[tuple[Tensor, int]] = DataLoader(ConcatDataset([dataset, Subset(dataset, [0, 1])]), batch_size=2)
lists = ConcatDataset([[1, 2], [3]])
train(model, loader, opt, nn.CrossEntropyLoss(), device)
sched.step()
state = model.state_dict()
model.load_state_dict(state)
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt", map_location="cpu"))
torch.load("model.pt", map_location=device)
torch.load("model.pt", map_location={"cuda:0": "cpu"})
torch.load("model.pt", map_location=lambda storage, location: storage)
for name, param in model.named_parameters():
    if param.grad is not None and param.requires_grad:
        print(name, param.grad.norm().item(), param.data.shape)
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
g1 = torch.autograd.grad(x.sum(), x)[0]
penalty = (torch.autograd.grad((x * x).sum(), x, create_graph=True)[0].view(1, -1).norm(2, dim=1) - 1) ** 2
for unused in torch.autograd.grad(x.sum(), (x, torch.ones(1, requires_grad=True)), allow_unused=True):
    print("none" if unused is None else unused.norm())
(g2,) = torch.autograd.grad((x * x).sum(), [x], create_graph=True)
sqr: Tensor = Square.apply(x)
weight: Tensor = model.fc1.weight
nn.init.xavier_uniform_(model.fc1.weight)
nn.init.zeros_(model.fc1.bias)
handle = model.register_forward_hook(lambda mod, args, out: None)
handle.remove()


def init_weights(m: nn.Module) -> None:
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        if m.bias is not None:
            nn.init.constant_(m.bias, 0)


model.apply(init_weights)
mha = nn.MultiheadAttention(8, 2, batch_first=True)
attn_out, attn_w = mha(torch.rand(1, 3, 8), torch.rand(1, 3, 8), torch.rand(1, 3, 8))
lstm = nn.LSTM(4, 8, num_layers=2, batch_first=True)
out, (hn, cn) = lstm(torch.rand(1, 5, 4))
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=8, nhead=2), num_layers=2)
emb = nn.Embedding(10, 4, padding_idx=0)
seq = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
last = seq[-1]
loss = F.cross_entropy(torch.rand(3, 4), torch.tensor([0, 1, 2]))
pooled = F.max_pool2d(torch.ones(1, 1, 4, 4), kernel_size=(2, 2), stride=2)
loss2 = nn.MSELoss(reduction="sum")(a, b)
bce = F.binary_cross_entropy_with_logits(a, torch.ones_like(a))
sdp = F.scaled_dot_product_attention(
    torch.rand(1, 2, 3, 4), torch.rand(1, 2, 3, 4), torch.rand(1, 2, 3, 4), is_causal=True
)


def double(v: Tensor) -> Tensor:
    return v * 2


vm = torch.func.vmap(double)(a)
dist = torch.distributions.Normal(0.0, 1.0)
smp = dist.sample((3,)) + dist.sample(torch.Size([3])) + dist.rsample([3]) + dist.sample()
lp: Tensor = dist.log_prob(smp)
losses: list[float] = []
losses.append(loss.item())


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        return self.net(self.fc(x))


masked = Masked()
scores: Tensor = masked(torch.ones(2), mask=None)
anything: nn.Module = nn.Identity()
for layer in nn.ModuleList([masked, anything]):
    layer(1, 2, three=3)
