"""Right calls of aten's operators, a module for each kind as in ``operators``; `samples` makes further calls of them."""
