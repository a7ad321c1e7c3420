"""Why your LLM server stalls, what to change, and proof that it worked."""

__version__ = "0.1.0"
