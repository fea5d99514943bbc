"""Fit, join, ask and release probabilistic models of people's data, and say exactly what each run reveals."""

from importlib.metadata import version

__version__ = version("discreet")

__all__ = ["__version__"]
