"""Train T5, an encoder with a decoder, and translate with beams."""

import torch
from job_values import report, train, weights
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0
)
model = T5ForConditionalGeneration(config)
first = weights(model)
ids = torch.randint(2, 60, (4, 10))
labels = torch.randint(2, 60, (4, 7))
losses = train(lambda: model(input_ids=ids, labels=labels).loss, model.parameters(), lr=0.01)
model.eval()
greedy = model.generate(ids[:2], max_new_tokens=8, do_sample=False)
beams = model.generate(ids[:2], max_new_tokens=8, num_beams=3, do_sample=False)
report(first=first, losses=losses, greedy=greedy, beams=beams)
