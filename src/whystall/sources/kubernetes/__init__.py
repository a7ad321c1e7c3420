"""vLLM pods of a Kubernetes cluster as a source, through its API server."""
