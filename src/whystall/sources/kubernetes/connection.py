"""How the API server is reached: as the target says, from inside a pod, or as the kubeconfig says."""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from whystall.errors import UsageError
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LIMIT = 4 * 1024 * 1024
_PROXY = "run kubectl proxy, and add ?api=http://127.0.0.1:8001 to the target"


@contextmanager
def connection(
    api: str, context: str, access: Access, environment: Mapping[str, str] = os.environ, account: Path = _ACCOUNT
) -> Iterator[tuple[Address, Access]]:
    """The API server's address and the access to it. What the user gave (token, CA, certificate) comes first.

    Raises UsageError where no API server is known, or the kubeconfig wants what is not done here.
    """
    if api:
        yield Address.parse(api), access
    elif (host := environment.get("KUBERNETES_SERVICE_HOST")) and not context:
        port = environment.get("KUBERNETES_SERVICE_PORT", "443")
        where = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        token = _text(account / "token")
        ca = account / "ca.crt"
        own = access.or_token(token)
        yield Address.parse(where), own if own.ca else msgspec.structs.replace(own, ca=ca)
    else:
        with tempfile.TemporaryDirectory(prefix="whystall-") as folder:  # mode 0700
            yield _from_file(_config(environment), context, access, Path(folder))


def _config(environment: Mapping[str, str]) -> Path:
    named = environment.get("KUBECONFIG", "").split(os.pathsep)[0]
    path = Path(named).expanduser() if named else Path.home() / ".kube" / "config"
    if not path.is_file():
        raise UsageError(f"no API server is known: there is no {path}", f"set KUBECONFIG, or {_PROXY}")
    return path


def _from_file(path: Path, context: str, access: Access, folder: Path) -> tuple[Address, Access]:
    try:
        data = yaml.safe_load(_text(path))
    except (yaml.YAMLError, RecursionError):
        raise UsageError(f"{path} is not YAML", _PROXY) from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no kubeconfig", _PROXY)
    chosen = context or str(data.get("current-context") or "")
    names = _entry(data, "contexts", chosen, "context", path)
    cluster = _entry(data, "clusters", names.get("cluster"), "cluster", path)
    user = _entry(data, "users", names.get("user"), "user", path)
    if cluster.get("insecure-skip-tls-verify"):
        raise UsageError(f"{path} says not to check the API server's certificate, which is not done here", _PROXY)
    if "exec" in user or "auth-provider" in user:
        raise UsageError(f"{path} gets its token from another program, which is not run here", _PROXY)
    token = str(user.get("token") or "") or (
        _text(path.parent / str(user["tokenFile"])) if user.get("tokenFile") else ""
    )
    found = access.or_token(token.strip())
    files = {
        "ca": _file(cluster, "certificate-authority", path, folder),
        "certificate": _file(user, "client-certificate", path, folder),
        "key": _file(user, "client-key", path, folder),
    }
    more = {name: file for name, file in files.items() if file is not None and getattr(found, name) is None}
    return Address.parse(str(cluster.get("server") or "")), msgspec.structs.replace(found, **more)


def _entry(data: dict[str, Any], kind: str, name: object, inside: str, path: Path) -> dict[str, Any]:
    rows = data.get(kind)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get(inside), dict):
            found: dict[str, Any] = row[inside]
            return found
    raise UsageError(f"{path} has no {inside} {str(name)[:60]!r}", "choose one with ?context=NAME")


def _file(row: dict[str, Any], name: str, path: Path, folder: Path) -> Path | None:
    """The file that is named, or one with the data that stands in the kubeconfig; None where it has neither."""
    if row.get(f"{name}-data"):
        try:
            body = base64.b64decode(str(row[f"{name}-data"]), validate=True)
        except binascii.Error:
            raise UsageError(f"{name}-data in {path} is not base64", _PROXY) from None
        file = folder / f"{name}.pem"
        file.touch(mode=0o600)
        file.write_bytes(body)
        return file
    return path.parent / str(row[name]) if row.get(name) else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LIMIT).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", _PROXY) from None
