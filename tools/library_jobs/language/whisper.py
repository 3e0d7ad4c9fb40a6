"""Train Whisper on spectra, and write one down."""

import torch
from job_values import report, train, weights
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch.manual_seed(0)
config = WhisperConfig(
    vocab_size=64,
    num_mel_bins=8,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    max_source_positions=20,
    max_target_positions=24,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=3,
)
model = WhisperForConditionalGeneration(config)
first = weights(model)
spectra = torch.randn(2, 8, 40)
labels = torch.randint(4, 60, (2, 6))
losses = train(lambda: model(input_features=spectra, labels=labels).loss, model.parameters())
model.eval()
with torch.no_grad():
    logits = model(input_features=spectra, decoder_input_ids=labels).logits
report(first=first, losses=losses, words=logits.argmax(-1), logits=logits[0, 0, :8])
