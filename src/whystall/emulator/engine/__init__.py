"""A vLLM V1 engine as a deterministic discrete-event model: scheduler, KV blocks, step time, clock."""
