"""Short ways of operators whose usual way is a composite; `Library.short_way` says when calls take them."""
