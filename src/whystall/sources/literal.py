"""Python's and JSON's way to write configuration, taken apart without evaluating anything.

The texts are those of ``repr`` in logs and ``/server_info``: ``{'a': 1, 'b': Name(c='x', d=[1, 2])}`` or ``a='x', b=1``.
They may be cut short anywhere. Work grows with the length alone: quotes and brackets are followed in one pass a level.
"""

from __future__ import annotations

import re

_MARK = re.compile(r"""['"\[\](){},]""")
_CALL = re.compile(r"[A-Za-z_][\w.]{0,80}\(")
_NOTHING = frozenset(("None", "null", ""))
MAX_DEPTH = 3
MAX_ITEMS = 2_000


def settings(text: str, sign: str = "=", prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Names to values, as text without quotes; what is None is left out.

    ``sign`` stands between name and value. A nested object or dictionary also gives its own names, after a dot.
    """
    found: dict[str, str] = {}
    for item in items(text):
        name, _, value = item.partition(sign)
        name, value = prefix + unquoted(name.strip()), value.strip()
        if not name or unquoted(value) in _NOTHING:
            continue
        found[name] = unquoted(value)
        if depth < MAX_DEPTH:
            found |= _nested(value, name + ".", depth + 1)
    return found


def items(text: str) -> list[str]:
    """The parts between commas that stand in no quotes and no brackets. At most 2,000."""
    found: list[str] = []
    start = level = at = 0
    while (mark := _MARK.search(text, at)) is not None and len(found) < MAX_ITEMS:
        sign, at = mark.group(), mark.end()
        if sign in "'\"":
            at = _closing(text, sign, at)
        elif sign in "[({":
            level += 1
        elif sign in "])}":
            level -= 1
        elif level == 0:
            found.append(text[start : mark.start()])
            start = at
    if text[start:].strip():
        found.append(text[start:])
    return [item.strip() for item in found]


def unquoted(text: str) -> str:
    """The text within quotes, its escapes left as they are."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def numbers(text: str) -> list[float]:
    """The numbers of a list written out; [] where there are none."""
    return [float(found) for found in re.findall(r"-?\d{1,15}(?:\.\d{1,15})?", text[:100_000])]


def _nested(value: str, prefix: str, depth: int) -> dict[str, str]:
    if value[:1] == "{":
        return settings(value[1:].removesuffix("}"), ":", prefix, depth)
    if (call := _CALL.match(value)) is not None:
        return settings(value[call.end() :].removesuffix(")"), "=", prefix, depth)
    return {}


def _closing(text: str, quote: str, at: int) -> int:
    """Just after the quote that ends a string begun before ``at``; the text's end where none does."""
    while (end := text.find(quote, at)) >= 0:
        escapes = end - len(text[at:end].rstrip("\\")) - at
        at = end + 1
        if escapes % 2 == 0:
            return at
    return len(text)
