"""A ticket: what people wrote down of an incident, as the short recording that its numbers describe."""
