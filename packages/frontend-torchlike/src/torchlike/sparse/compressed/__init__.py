"""Sparse tensors of compressed rows or columns, and of blocks of them: CSR, CSC, BSR and BSC (source: ``torch.sparse``)."""
