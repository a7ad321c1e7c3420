"""Load on a server: open and closed loops in phases, each request timed as its client sees it."""
