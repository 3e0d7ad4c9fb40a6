"""Mistakes with layers, losses, optimizers and loaders of data."""

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import Tensor, nn, optim
from torchlike.utils.data import ConcatDataset, DataLoader, Dataset, TensorDataset

x = torch.ones(2, 3)
model = nn.Linear(2, 3)
nn.Linear("3", 4)  # error
nn.Linear(3)  # error
nn.Linear(3, 4, biass=True)  # error
nn.Linear(3, 4, dtype="float32")  # error
nn.Conv2d(3, 16)  # error
nn.Conv2d("3", 16, 3)  # error
nn.Dropout("0.5")  # error
nn.Dropout(p="0.5")  # error
nn.ReLU(inplce=True)  # error
nn.Embedding(10)  # error
nn.BatchNorm2d("16")  # error
nn.Sequential(3)  # error
nn.Sequential(nn.Linear(2, 3), "relu")  # error
optim.SGD(model.parameters(), lr="x")  # error
optim.SGD(model.parameters(), learning_rate=0.1)  # error
optim.SGD(lr=0.1)  # error
optim.Adam(model.parameters(), betas=0.9)  # error
optim.Adam(model.parameters, lr=0.1)  # error
optim.SGD(3, lr=0.1)  # error
optim.SDG(model.parameters(), lr=0.1)  # error
opt = optim.SGD(model.parameters(), lr=0.1)
opt.zero_gradd()  # error
opt.step(3)  # error
optim.LBFGS(model.parameters()).step()  # error
optim.lr_scheduler.StepLR(opt)  # error
optim.lr_scheduler.StepLR(opt, step_size="3")  # error
optim.lr_scheduler.StepLR(model, 3)  # error
F.relu()  # error
F.relu(x, inplace="x")  # error
F.softmax(x, dimm=1)  # error
F.softmax(x, dim="1")  # error
F.cross_entropy(x)  # error
F.cross_entropy(x, 3)  # error
F.cross_entropy(x, x, reduction=3)  # error
F.rellu(x)  # error
F.dropout(x, p="0.5")  # error
F.conv2d(x)  # error
F.linear(x, "w")  # error
F.mse_loss(x, x, reductoin="mean")  # error
F.pad(x, 3.5)  # error
F.max_pool2d(x)  # error
F.max_pool2d(x, kernel="2")  # error
F.adaptive_max_pool2d(x)  # error
torch.nn.Liner(2, 3)  # error
model.parametres()  # error
model.to(3.5)  # error
model.train("yes")  # error
model.eval(True)  # error
model.load_state_dict("x")  # error
model.load_state_dict()  # error
model.register_buffer("x", 3)  # error
model.zero_grad(set_to_none="x")  # error
model.weight.foo  # error
model.in_features.foo  # error
model.apply(3)  # error
nn.init.xavier_uniform_("x")  # error
nn.init.xavier_uniform_(model.weight, gain="1")  # error
nn.utils.clip_grad_norm_(model.parameters())  # error
nn.utils.clip_grad_norm_(model.parameters(), max_norm=[])  # error
nn.CrossEntropyLoss(weight=3)  # error
nn.CrossEntropyLoss(reduction=3)  # error
nn.MultiheadAttention(8)  # error
nn.MultiheadAttention(8, "2")  # error
nn.TransformerEncoderLayer(8)  # error
nn.Parameter([1.0])  # error
nn.Parameter(x, requires_gard=False)  # error
nn.ModuleList([3])  # error
nn.ModuleList(nn.Linear(2, 3), nn.Linear(2, 3))  # error
nn.Flatten(start="1")  # error
DataLoader()  # error
DataLoader(TensorDataset(x), batch_size="4")  # error
DataLoader(TensorDataset(x), batchsize=4)  # error
DataLoader(TensorDataset(x), shuffle="yes")  # error
DataLoader(5)  # error
TensorDataset("x")  # error
ConcatDataset(TensorDataset(x), TensorDataset(x))  # error
ConcatDataset([3])  # error


class Net(nn.Module):
    def forward(self, x: Tensor) -> int:
        return x.relu()  # error


class Data(Dataset[Tensor]):
    def __getitem__(self, index: int) -> str:  # error
        return "x"


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.fc(x)


masked = Masked()
masked("x")  # error
masked()  # error
masked(x, msk=None)  # error
result: str = masked(x)  # error
masked(x).reluu()  # error
masked.fcc(x)  # error
nn.Linear(2, 3)("x")  # error
nn.CrossEntropyLoss()(x)  # error
out, (hn, cn), more = nn.LSTM(4, 8)(x)  # error
nn.LSTM()  # error
nn.LSTM("4", 8)  # error
nn.GRU(4, 8, num_layer=2)  # error
nn.MaxPool2d(2)(x, x, x)  # error
