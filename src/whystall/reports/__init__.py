"""Any noun -> text a person or a program reads: terminal, JSON, Markdown, one-file HTML."""

from .finding import Finding
from .renderer import FORMATS, Renderer, render

__all__ = ["FORMATS", "Finding", "Renderer", "render"]
