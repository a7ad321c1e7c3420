"""The engine behind HTTP: what a vLLM server answers, on a clock that may run faster than ours."""
