"""The complete tensor class, torch's names that ask or refuse, and the import of torchlike as torch."""
