"""A Ray cluster as a source: what its dashboard says of itself, and the pages on which its vLLM replicas report."""
