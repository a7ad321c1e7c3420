"""Incidents that are kept: the store, what past cases are like a new one, and which remedies helped."""
