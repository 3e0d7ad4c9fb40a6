"""Train BERT by the Trainer, save it, and read it back."""

import tempfile

import torch
from job_values import report, weights
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
config = BertConfig(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=4,
    intermediate_size=37,
    max_position_embeddings=40,
)
model = BertForSequenceClassification(config)
first = weights(model)
rows = [{"input_ids": torch.randint(0, 99, (12,)), "labels": torch.tensor(each % 2)} for each in range(12)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=4,
        max_steps=3,
        learning_rate=1e-3,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        seed=1,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=rows)
    done = trainer.train()
    trainer.save_model(folder)
    again = BertForSequenceClassification.from_pretrained(folder)
losses = [each["loss"] for each in trainer.state.log_history if "loss" in each]
report(first=first, mean=done.training_loss, losses=losses, last=weights(model), same=weights(again) == weights(model))
