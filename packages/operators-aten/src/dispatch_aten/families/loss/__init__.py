"""Softmax and loss functions with their backward operators."""
