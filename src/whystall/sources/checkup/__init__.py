"""What is installed, reachable and readable: the checks of ``whystall doctor``."""
