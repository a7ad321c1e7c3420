"""Run inside a Ray cluster: shows a vLLM page as a replica's metrics, as vLLM's logger for Ray does.

``python ray_mirror.py HOST:PORT_OF_GCS URL_OF_METRICS REPLICA``
"""

from __future__ import annotations

import re
import sys
import time
import urllib.request

import ray
from ray.util.metrics import Gauge

_LINE = re.compile(r"(vllm:[a-z_]+)\{(.*)\} (\S+)$")
_LABEL = re.compile(r'([a-zA-Z_]+)="([^"]*)"')


@ray.remote
class Replica:
    def __init__(self, url: str, replica: str) -> None:
        self.url, self.replica = url, replica
        self.gauges: dict[str, Gauge] = {}

    def show(self) -> int:
        """Read the page once; a gauge of that name gives the same line on Ray's page as a counter or a bucket."""
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        found = [match for line in lines if (match := _LINE.match(line))]
        for match in found:
            tags = dict(_LABEL.findall(match[2])) | {"ReplicaId": self.replica}
            name = match[1].replace(":", "_")
            if name not in self.gauges:
                self.gauges[name] = Gauge(name, tag_keys=tuple(tags))
            self.gauges[name].set(float(match[3]), tags)
        return len(found)


ray.init(address=sys.argv[1], log_to_driver=False)
actor = Replica.remote(sys.argv[2], sys.argv[3])
while True:
    print(ray.get(actor.show.remote()), flush=True)
    time.sleep(0.5)
