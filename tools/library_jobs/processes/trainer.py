"""Train GPT-2 by the Trainer in two processes, with parts that are computed again, and evaluate it."""

import tempfile

import torch
from job_values import report, weights
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
none = {f"{name}_pdrop": 0.0 for name in ("resid", "embd", "attn")}
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2, **none))
rows = [{"input_ids": each, "labels": each} for each in torch.randint(0, 64, (32, 16))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=4,
        num_train_epochs=2,
        learning_rate=1e-3,
        logging_steps=1,
        eval_strategy="epoch",
        save_strategy="no",
        gradient_checkpointing=True,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:10])
    trainer.train()
losses = [each[name] for each in trainer.state.log_history for name in ("loss", "eval_loss") if name in each]
report(count=arguments.world_size, losses=losses, last=weights(model))
