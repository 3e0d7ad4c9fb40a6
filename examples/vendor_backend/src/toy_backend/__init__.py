"""An example of a vendor's backend: the device ``toy``, which nothing imports."""
