"""A patch for a repository that a controller deploys from: a file for a person to commit, never pushed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whystall.errors import InputError, Refused, UsageError

from .actuator import Plan, Readiness, Snapshot
from .arguments import changed, differences
from .durable import write_whole
from .spec import ValuesSpec
from .yaml_text import yaml_text

_MARK = "# whystall fix:"
_WHERE = {
    "argocd": "a Kustomize patch: name it under `patches:` of the overlay that Argo CD deploys",
    "kserve": "a merge patch of the InferenceService: merge it into the manifest in your repository",
    "production_stack": "values of the production-stack chart: merge them into the file that your release uses",
}


class Values:
    """Writes the file. ``live`` is False: what becomes of it is for the repository's owners."""

    kind = "values"
    live = False

    def __init__(self, spec: ValuesSpec, arguments: tuple[str, ...]) -> None:
        if spec.form not in _WHERE:
            raise UsageError(f"{spec.form!r} is no form of values", f"Known are {', '.join(_WHERE)}.")
        self.spec = spec
        self.file = Path(spec.file).expanduser()
        self.arguments = spec.arguments or arguments
        self.target = f"values:{self.file.resolve()}"

    async def snapshot(self) -> Snapshot:
        """The arguments as the configuration or the server says."""
        if not self.arguments:
            raise UsageError(
                "the server's present arguments are not known, and such a patch has to repeat them",
                "Give them as `arguments` in whystall.toml, or with --server-args.",
            )
        return Snapshot(self.arguments)

    async def plan(self, before: Snapshot, flags: Mapping[str, str]) -> Plan:
        """The file's text."""
        after = changed(before.arguments, flags)
        if after == before.arguments:
            raise UsageError("these arguments are there already", "There is nothing to change.")
        text = f"{self.file}:\n{self._text(before.arguments, after)}"
        return Plan(before, after, text, f"rm {self.file}, or revert the commit that took it in", dict(flags))

    def _text(self, before: tuple[str, ...], after: tuple[str, ...]) -> str:
        head = "".join(f"{_MARK} {line}\n" for line in (_WHERE[self.spec.form], *differences(before, after)))
        return head + yaml_text(_document(self.spec, after))

    async def apply(self, plan: Plan) -> None:
        """Write the file; one that is not whystall's is left alone."""
        if self._foreign():
            raise Refused(f"{self.file} is there, and whystall did not write it", "Choose another `file`.")
        write_whole(self.file, self._text(plan.before.arguments, plan.after).encode())

    async def roll_back(self, before: Snapshot) -> None:
        """Take the file away."""
        if not self._foreign():
            self.file.unlink(missing_ok=True)

    async def healthy(self) -> Readiness:
        """Nothing was changed yet."""
        return Readiness(False, "the patch is written; the server changes when it is merged")

    def _foreign(self) -> bool:
        try:
            return self.file.exists() and not self.file.read_text(encoding="utf-8").startswith(_MARK)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.file} cannot be read: {error}", "Choose another `file`.") from error


def _document(spec: ValuesSpec, arguments: tuple[str, ...]) -> dict[str, Any]:
    words = list(arguments)
    if spec.form == "kserve":
        head = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": spec.name}}
        return {**head, "spec": {"predictor": {"model": {"args": words}}}}
    if spec.form == "production_stack":
        return {"servingEngineSpec": {"modelSpec": [{"name": spec.name, "vllmConfig": {"extraArgs": words}}]}}
    container = {"name": spec.container, "args": words}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": spec.name}}
    return {**head, "spec": {"template": {"spec": {"containers": [container]}}}}
