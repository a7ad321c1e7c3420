"""Request spans as they come: an OTLP receiver, and the query APIs of Jaeger and Zipkin."""
