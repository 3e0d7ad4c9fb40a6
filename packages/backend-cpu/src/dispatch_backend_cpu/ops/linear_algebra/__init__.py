"""Products and factors of matrices, and Fourier transforms."""
