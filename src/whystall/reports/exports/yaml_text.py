"""Plain data as YAML that a person reads: keys in their order, long texts as blocks, a first line that says whose it is."""

from __future__ import annotations

from typing import Any

import yaml


class _Writer(yaml.SafeDumper):
    """Never an anchor (two alike parts are no reference), texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


# A line break to PyYAML's reader, and half of one to its writer: only escaped does it come back as it went.
_NEXT_LINE = "\x85"


def _written(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _NEXT_LINE in text else "|" if "\n" in text else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(str, _written)


def yaml_text(document: Any, *comments: str) -> str:
    """``document`` as YAML below ``comments``."""
    head = "".join(f"# {line}\n" for line in comments)
    return head + yaml.dump(document, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110)


def yaml_documents(documents: list[Any], *comments: str) -> str:
    """Several documents in one file, as Kubernetes takes them."""
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(yaml_text(one) for one in documents)
