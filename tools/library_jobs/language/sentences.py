"""Train a sentence encoder with a vocabulary of its own, and compare sentences."""

import tempfile
from pathlib import Path

import torch
from job_values import report, train, weights
from sentence_transformers import SentenceTransformer
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a small cat dog sees runs sleeps here there".split()
torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizerFast(vocab_file=f"{folder}/vocab.txt", vocab=f"{folder}/vocab.txt").save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=37,
        hidden_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(folder)
    words = Transformer(folder, max_seq_length=16)
model = SentenceTransformer(modules=[words, Pooling(32)], device="cpu")
first = weights(model)
pairs = [["a small cat sees", "a dog sleeps here"], ["a cat runs there", "small dog runs"]]
loss = MultipleNegativesRankingLoss(model)
losses = train(lambda: loss([model.tokenize(each) for each in pairs], None), model.parameters(), lr=0.01)
vectors = model.encode(pairs[0], convert_to_tensor=True, show_progress_bar=False)
report(first=first, losses=losses, likeness=model.similarity(vectors, vectors), vector=vectors[0, :8])
