"""Train BERT's masked language model."""

import torch
from job_values import report, train, weights
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=37,
    max_position_embeddings=40,
)
model = BertForMaskedLM(config)
first = weights(model)
ids = torch.randint(0, 99, (4, 12))
mask = torch.ones_like(ids)
mask[:, 9:] = 0
losses = train(lambda: model(input_ids=ids, attention_mask=mask, labels=ids).loss, model.parameters())
report(first=first, losses=losses, last=weights(model))
