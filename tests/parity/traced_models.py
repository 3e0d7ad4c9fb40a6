"""Networks whose graphs are compared, as programs write them; ``torch`` is torch or torchlike, ``F`` its functions."""

from __future__ import annotations

import math
from typing import Any


def make_models(torch: Any) -> dict[str, Any]:
    """Return the networks by name."""
    nn, F = torch.nn, torch.nn.functional  # as programs name them

    class ConvNormAct(nn.Sequential):
        def __init__(self, inner, outer, kernel=3, stride=1, groups=1, act=nn.ReLU6):
            conv = nn.Conv2d(inner, outer, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)
            super().__init__(conv, nn.BatchNorm2d(outer), act(inplace=True))

    class BasicBlock(nn.Module):
        def __init__(self, inner, outer, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.downsample = nn.Conv2d(inner, outer, 1, stride) if stride != 1 or inner != outer else None

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 8, 7, 2, 3)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 8))
            self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(16, 10)

        def _forward_impl(self, x):
            x = self.maxpool(self.conv1(x))
            x = self.avgpool(self.layer2(self.layer1(x)))
            return self.fc(torch.flatten(x, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self._forward_impl(x)

    class InvertedResidual(nn.Module):
        def __init__(self, inner, outer, stride, expand):
            super().__init__()
            self.use_res_connect = stride == 1 and inner == outer
            hidden = inner * expand
            layers = [] if expand == 1 else [ConvNormAct(inner, hidden, 1)]
            layers += [
                ConvNormAct(hidden, hidden, 3, stride, hidden),
                nn.Conv2d(hidden, outer, 1),
                nn.BatchNorm2d(outer),
            ]
            self.conv = nn.Sequential(*layers)

        def forward(self, x):
            return x + self.conv(x) if self.use_res_connect else self.conv(x)

    class MobileNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                ConvNormAct(3, 8, stride=2),
                InvertedResidual(8, 8, 1, 1),
                InvertedResidual(8, 16, 2, 2),
                ConvNormAct(16, 32, 1),
            )
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, 10))

        def forward(self, x):
            x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
            return self.classifier(torch.flatten(x, 1))

    class SqueezeExcite(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc1, self.fc2 = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)

        def forward(self, x):
            scale = F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)), inplace=True)
            return F.hardsigmoid(self.fc2(scale), inplace=True) * x

    class Excited(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = ConvNormAct(3, 8, act=nn.Hardswish)
            self.se = SqueezeExcite(8)
            self.drop = nn.Dropout2d(0.1)

        def forward(self, x):
            x = self.drop(self.se(self.stem(x)))
            return F.hardswish(x).mean([2, 3]).sum(dim=1, keepdim=True)

    class DenseLayer(nn.Module):
        def __init__(self, inner, growth):
            super().__init__()
            self.norm1, self.relu1 = nn.BatchNorm2d(inner), nn.ReLU(inplace=True)
            self.conv1 = nn.Conv2d(inner, growth, 3, padding=1)
            self.drop_rate = 0.1

        def forward(self, inputs):
            joined = self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))
            return F.dropout(joined, p=self.drop_rate, training=self.training)

    class DenseNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.ModuleDict({f"denselayer{i + 1}": DenseLayer(4 + 4 * i, 4) for i in range(3)})
            self.norm = nn.BatchNorm2d(16)
            self.classifier = nn.Linear(16, 10)

        def forward(self, x):
            features = [x]
            for layer in self.block.values():
                features.append(layer(features))
            out = F.relu(self.norm(torch.cat(features, dim=1)), inplace=True)
            out = F.avg_pool2d(out, 2)
            out = F.adaptive_avg_pool2d(out, (1, 1)).view(out.size(0), -1)
            return F.log_softmax(self.classifier(out), dim=1)

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.scale = heads, (width // heads) ** -0.5
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, mask=None):
            B, N, C = x.shape
            qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
            q, k, v = qkv.unbind(0)
            weights = (q @ k.transpose(-2, -1)) * self.scale
            if mask is not None:
                weights = weights.masked_fill(mask == 0, float("-inf"))
            weights = weights.softmax(dim=-1)
            return self.proj((weights @ v).transpose(1, 2).reshape(B, N, C))

    class Encoder(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = Attention(width, heads)
            self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            x = x + self.attn(self.norm1(x))
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))

    class VisionTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 8, 4, 4)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, 8))
            self.pos_embed = nn.Parameter(torch.zeros(1, 5, 8))
            self.blocks = nn.Sequential(Encoder(8, 2), Encoder(8, 2))
            self.norm, self.head = nn.LayerNorm(8, eps=1e-6), nn.Linear(8, 10)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            tokens = self.cls_token.expand(x.shape[0], -1, -1)
            x = torch.cat((tokens, x), dim=1) + self.pos_embed
            return self.head(self.norm(self.blocks(x))[:, 0])

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(20, 8), nn.Embedding(16, 8)
            self.layers = nn.ModuleList([Encoder(8, 2)])
            self.register_buffer("mask", torch.tril(torch.ones(16, 16)))
            self.decoder = nn.Linear(8, 20, bias=False)

        def forward(self, ids, targets):
            length = ids.size(1)
            x = self.embedding(ids) * math.sqrt(8)
            x = x + self.positions(torch.arange(16))[None, :length]
            for layer in self.layers:
                x = layer(x)
            logits = F.linear(F.layer_norm(x, (8,)), self.decoder.weight)
            loss = F.cross_entropy(logits.view(-1, 20), targets.view(-1), ignore_index=-1, label_smoothing=0.1)
            return {"logits": logits, "loss": loss, "mask": self.mask}

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.bottom = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
            self.up, self.out = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 1, 1)

        def forward(self, x):
            first = F.elu(self.down(x))
            second = F.leaky_relu(self.bottom(F.max_pool2d(first, 2)), 0.2)
            third = self.up(second)
            third = F.pad(third, (0, 0, 0, 0))
            large = F.interpolate(self.out(torch.cat([first, third], 1)), scale_factor=2, mode="nearest")
            return torch.sigmoid(large), F.softplus(large).mean()

    class Inception(nn.Module):
        def __init__(self):
            super().__init__()
            self.branch1, self.branch2 = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 3, padding=1)
            self.pool, self.fc = nn.Conv2d(3, 4, 1), nn.Linear(12, 5)

        def forward(self, x):
            channel = torch.unsqueeze(x[:, 0], 1) * (0.229 / 0.5) + (0.485 - 0.5) / 0.5
            x = torch.cat((channel, torch.unsqueeze(x[:, 1], 1), x[:, 2:3]), 1)
            branches = [
                self.branch1(x),
                self.branch2(x),
                self.pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
            ]
            out = torch.clamp(torch.cat(branches, 1), min=0).amax((2, 3))
            return F.normalize(self.fc(out), p=2.0, dim=-1), torch.stack(branches).std(0)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.input, self.hidden = nn.Linear(4, 24), nn.Linear(6, 24)
            self.steps = 3

        def forward(self, x, h, c):
            outputs = []
            for step in range(self.steps):
                i, f, g, o = (self.input(x[:, step]) + self.hidden(h)).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = o.sigmoid() * c.tanh()
                outputs.append(h)
            return torch.stack(outputs, dim=1), (h, c)

    class Functions(nn.Module):
        def forward(self, x, y):
            z = torch.einsum("bij,bjk->bik", x, y)
            a, b = torch.split(z, 2, dim=-1)
            c = torch.where(a > b, a, torch.zeros_like(b)) ** 2
            d = torch.linalg.norm(c, dim=-1) + torch.bmm(x, y).abs().max(dim=-1)[0]
            e = torch.matmul(x, y).exp().log1p_() / torch.norm(z) - torch.maximum(x, y) % 3
            f = F.mse_loss(a, b) + F.binary_cross_entropy_with_logits(a, b, reduction="sum")
            g = F.one_hot(torch.argmax(z, -1), num_classes=4).to(torch.float64).type_as(x)
            return (
                -d,
                ~(e > 0) | (e != e),
                f.item,
                torch.topk(g, 2, dim=-1).values,
                F.softmax(e, -1, dtype=torch.float32),
            )

    found = [
        ResNet,
        MobileNet,
        Excited,
        DenseNet,
        VisionTransformer,
        LanguageModel,
        UNet,
        Inception,
        Recurrent,
        Functions,
    ]
    return {each.__name__: each() for each in found}
