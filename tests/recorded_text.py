"""Small recordings written by hand, for tests of what reads them."""

import gzip
import json

import numpy as np

from whystall.model.recording import InputWarning, Recording

T0 = 1796000000.0


def page(number, series=3):
    """The page of scrape ``number``: counters that rise by 100, and a gauge."""
    head = "# TYPE vllm:generation_tokens_total counter\n"
    body = "".join(f'vllm:generation_tokens_total{{engine="{k}"}} {100.0 * number + k}\n' for k in range(series))
    return head + body + f"vllm:num_requests_running {float(number)}\n"


def scraped(number, t=None, text=None):
    """A page after its marker."""
    return f"# scrape {T0 + number if t is None else t}\n{page(number) if text is None else text}"


def lines(*rows):
    """JSON lines; a text stands as it is."""
    return "".join((text if isinstance(text, str) else json.dumps(text)) + "\n" for text in rows)


def write(folder, text, name="metrics.prom"):
    """Puts a file into the folder, gzip where its name ends so; gives the folder."""
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def warned(found: Recording) -> dict[str, InputWarning]:
    return {warning.id: warning for warning in found.warnings}


def row(found: Recording, name: str) -> np.ndarray:
    (number,) = [k for k, key in enumerate(found.metrics.keys) if key.name == name]
    return found.metrics.values[number]
