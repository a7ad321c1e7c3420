"""``whystall`` and ``python -m whystall``."""

import sys


def start() -> None:
    """Run the command line. It is imported late, so that Ctrl-C while it still loads leaves without a traceback too."""
    try:
        from whystall.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    start()
