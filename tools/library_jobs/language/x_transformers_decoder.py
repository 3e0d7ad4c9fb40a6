"""Train a decoder of x-transformers with rotary positions, and continue a text."""

import torch
from job_values import report, train, weights
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, ff_glu=True)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers))
first = weights(model)
ids = torch.randint(0, 64, (4, 12))
losses = train(lambda: model(ids), model.parameters())
text = model.generate(ids[:2, :4], 8, temperature=0.0)
report(first=first, losses=losses, text=text)
