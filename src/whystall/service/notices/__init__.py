"""Telling people: one message an incident, an update where its cause changed, and one when it is over."""
