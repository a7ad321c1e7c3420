"""The waiting queue: first come first served with a way back to the head, or by priority."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from .options import Policy
from .request import Request


class WaitingQueue:
    """Requests that wait, ordered by ``policy``. ``set_aside`` heads come back with ``restore`` in their old order."""

    def __init__(self, policy: Policy) -> None:
        self._line: deque[Request] | None = deque() if policy == "fcfs" else None
        self._heap: list[Request] = []

    def __len__(self) -> int:
        return len(self._heap) if self._line is None else len(self._line)

    def __iter__(self) -> Iterator[Request]:
        return iter(sorted(self._heap) if self._line is None else self._line)

    def add(self, request: Request) -> None:
        if self._line is None:
            heapq.heappush(self._heap, request)
        else:
            self._line.append(request)

    def put_back(self, request: Request) -> None:
        """To the head of the line; by priority there is no head, only the order."""
        if self._line is None:
            heapq.heappush(self._heap, request)
        else:
            self._line.appendleft(request)

    def head(self) -> Request:
        return self._heap[0] if self._line is None else self._line[0]

    def pop(self) -> Request:
        return heapq.heappop(self._heap) if self._line is None else self._line.popleft()

    def restore(self, requests: list[Request]) -> None:
        for request in reversed(requests):
            self.put_back(request)

    def remove(self, request: Request) -> None:
        if self._line is None:
            self._heap.remove(request)
            heapq.heapify(self._heap)
        else:
            self._line.remove(request)
