"""What is asked of a Kubernetes cluster: which namespace, which Deployment, by which API server."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

import msgspec

from whystall.errors import UsageError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")
_HINT = "write it as k8s://namespace/deployment, or k8s://namespace; …?api=http://127.0.0.1:8001 for kubectl proxy"
_KNOWN = {"api", "container", "port", "context"}


class PodQuestion(msgspec.Struct, frozen=True):
    """``deployment`` "" is every pod that runs vLLM or SGLang in the namespace. ``api`` is the API server where it is
    named, ``context`` that of the kubeconfig; ``container`` and ``port`` (0: not given) say what of a pod is scraped."""

    namespace: str
    deployment: str = ""
    api: str = ""
    context: str = ""
    container: str = ""
    port: int = 0


def is_kubernetes(target: str) -> bool:
    """Whether a target names a Deployment or a namespace."""
    return target.lower().startswith("k8s://")


def parse_kubernetes(target: str) -> PodQuestion:
    """``k8s://namespace[/deployment][?api=…&context=…&container=…&port=…]``. Raises UsageError."""
    try:
        parts = urlsplit(target)
        given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise UsageError(f"the Kubernetes target cannot be read: {error}", _HINT) from None
    names = [parts.netloc, parts.path.strip("/")]
    if not _NAME.match(names[0]) or (names[1] and not _NAME.match(names[1])):
        raise UsageError(f"{target[:80]!r} names no namespace and Deployment", _HINT)
    unknown = set(given) - _KNOWN
    port = given.get("port", "0")
    if unknown or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"the Kubernetes target has a wrong part: {sorted(unknown) or port[:20]}", _HINT)
    return PodQuestion(
        names[0], names[1], given.get("api", ""), given.get("context", ""), given.get("container", ""), int(port)
    )
