"""stablint: a static linter, advisor and rewriter for LLM fine-tuning configurations. The library's door is `stablint.api`."""

# Nothing is imported here, not even from Python: under `python -m stablint` the current folder, a checkout, is still searched first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Cause", "Report", "TrainingGuard", "TrainingStopped", "UnsafeConfig", "__version__", "advise", "assert_safe", "check", "diagnose", "fit",
    "new", "to_model", "to_text",
]  # fmt: skip


def __getattr__(name: str) -> "Any":
    """Import the library's door only when it is used: the command line starts without it."""
    if name in __all__:
        from stablint import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
