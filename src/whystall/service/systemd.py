"""Telling systemd how it goes: ``Type=notify`` by its socket (sd_notify(3)), without a library."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send ``state`` (``READY=1``, ``RELOADING=1``, ``STOPPING=1``, ``STATUS=…``). False where systemd did not start us.

    A socket that does not answer is no reason to stop: then False, too.
    """
    path = environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.connect("\0" + path[1:] if path.startswith("@") else path)
            sender.sendall(state.encode())
    except OSError:
        return False
    return True
