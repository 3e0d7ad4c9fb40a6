"""Train GPT-2's low-rank adapters only, and merge them."""

import torch
from job_values import report, train, weights
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4))
model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM"))
first = weights(model)
ids = torch.randint(1, 60, (4, 10))
trained = [each for each in model.parameters() if each.requires_grad]
losses = train(lambda: model(input_ids=ids, labels=ids).loss, trained)
model.eval()
with torch.no_grad():
    before = model(input_ids=ids).logits
    merged = model.merge_and_unload()(input_ids=ids).logits
report(
    first=first,
    losses=losses,
    trained=len(trained),
    logits=merged[0, 0, :8],
    same=torch.allclose(before, merged, atol=1e-4),
)
