"""Train Llama with grouped heads, and continue a text."""

import torch
from job_values import report, train, weights
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
model = LlamaForCausalLM(config)
first = weights(model)
ids = torch.randint(3, 60, (4, 10))
losses = train(lambda: model(input_ids=ids, labels=ids).loss, model.parameters())
model.eval()
greedy = model.generate(ids[:2, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)
drawn = model.generate(ids[:2, :4], max_new_tokens=8, do_sample=True, top_p=0.9, pad_token_id=0)
report(first=first, losses=losses, greedy=greedy, drawn=drawn)
