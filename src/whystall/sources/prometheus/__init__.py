"""Prometheus, and what speaks its query language (VictoriaMetrics, Thanos, Mimir), as a source of recordings."""
