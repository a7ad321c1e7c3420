"""The nouns: what is passed along the flow. Frozen, typed, no I/O."""
