"""The devices that the package brings: a module for each, imported when its device or an array of it is first met."""
