"""The one place that knows the release."""

__version__ = "0.1.0"
