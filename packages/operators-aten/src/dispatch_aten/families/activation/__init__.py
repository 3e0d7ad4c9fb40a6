"""Activation functions and their backward operators."""
