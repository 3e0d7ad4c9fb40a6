"""The version of the package, which the wheel takes from here."""

__version__ = "0.1.0"
