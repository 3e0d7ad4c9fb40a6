"""Train Mamba's state space model, and continue a text."""

import torch
from job_values import report, train, weights
from transformers import MambaConfig, MambaForCausalLM

torch.manual_seed(0)
model = MambaForCausalLM(MambaConfig(vocab_size=64, hidden_size=32, state_size=8, num_hidden_layers=2))
first = weights(model)
ids = torch.randint(1, 60, (4, 10))
losses = train(lambda: model(input_ids=ids, labels=ids).loss, model.parameters())
model.eval()
greedy = model.generate(ids[:2, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)
report(first=first, losses=losses, greedy=greedy)
