"""The flow, readable top to bottom."""
