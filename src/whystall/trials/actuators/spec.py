"""How a server is changed, as ``whystall.toml`` says it: ``[targets.NAME.actuator]`` with a ``kind`` and its keys."""

from __future__ import annotations

import msgspec


class ProcessSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="process"):
    """A server that whystall runs itself; ``folder`` is where it is kept."""

    folder: str


class EmulatedSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="emulated"):
    """An emulated server that whystall runs itself; ``folder`` is where it is kept."""

    folder: str


class ComposeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="compose"):
    """A Docker Compose service. ``files`` are the project's, ``override`` is the file that whystall writes."""

    service: str
    files: tuple[str, ...] = ("compose.yaml",)
    override: str = "compose.whystall.yaml"
    docker: str = "docker"
    start: str = "15m"


class KubernetesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="kubernetes"):
    """A Deployment. ``api`` and ``token_file`` are those of a pod's own service account where they are left out."""

    deployment: str
    namespace: str = "default"
    container: str = ""
    api: str = ""
    token_file: str = ""
    ca: str = ""
    start: str = "15m"


class RayServeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="ray_serve"):
    """A Ray Serve application; ``api`` is the dashboard's address, ``model`` the model's id where there are several."""

    application: str
    api: str = "http://127.0.0.1:8265"
    model: str = ""
    token_file: str = ""
    ca: str = ""
    start: str = "15m"


class CommandSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="command"):
    """A program of your own. ``argv`` is run without a shell, values come in its environment."""

    argv: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    start: str = "15m"


class ValuesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="values"):
    """A patch for a repository that a controller deploys from, written to ``file`` and never pushed.

    ``form`` is argocd (a Kustomize patch of a Deployment), kserve or production_stack; ``name`` the object's or model's.
    ``arguments`` are the server's present ones, which such a patch has to repeat.
    """

    form: str
    file: str
    name: str
    container: str = "vllm"
    arguments: tuple[str, ...] = ()


ActuatorSpec = ProcessSpec | EmulatedSpec | ComposeSpec | KubernetesSpec | RayServeSpec | CommandSpec | ValuesSpec
