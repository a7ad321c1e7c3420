"""The watcher's store: samples in sealed column chunks, incidents, and what is usual at which hour."""
