"""Train GPT-2 and continue a text, greedily and by draws."""

import torch
from job_values import report, train, weights
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=63)
model = GPT2LMHeadModel(config)
first = weights(model)
ids = torch.randint(1, 60, (4, 10))
losses = train(lambda: model(input_ids=ids, labels=ids).loss, model.parameters())
model.eval()
begin = ids[:2, :4]
greedy = model.generate(begin, max_new_tokens=8, do_sample=False, pad_token_id=0)
drawn = model.generate(begin, max_new_tokens=8, do_sample=True, top_k=20, temperature=0.8, pad_token_id=0)
report(first=first, losses=losses, greedy=greedy, drawn=drawn)
