"""What a change would do: the server's own steps and load, emulated as they are and as they would be."""

from .prediction import WhatIfAsked, asked_of, predict, predict_remedies, sweep_of, what_if

__all__ = ["WhatIfAsked", "asked_of", "predict", "predict_remedies", "sweep_of", "what_if"]
