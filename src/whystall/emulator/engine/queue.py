"""The waiting queue: first come first served with a way back to the head, or by priority."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from .options import Policy
from .request import Request


class Line(deque[Request]):
    """First come, first served. ``put_back`` goes to the head. A deque, because its length is asked for at each step."""

    def add(self, request: Request) -> None:
        self.append(request)

    def put_back(self, request: Request) -> None:
        self.appendleft(request)

    def head(self) -> Request:
        return self[0]

    def take_head(self) -> Request:
        return self.popleft()

    def restore(self, requests: list[Request]) -> None:
        """Bring back heads that were set aside, in their old order."""
        self.extendleft(reversed(requests))


class PriorityLine:
    """By priority, then arrival, then number. There is no head to put anybody back to, only the order."""

    def __init__(self) -> None:
        self._heap: list[Request] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return iter(sorted(self._heap))

    def add(self, request: Request) -> None:
        heapq.heappush(self._heap, request)

    put_back = add

    def head(self) -> Request:
        return self._heap[0]

    def take_head(self) -> Request:
        return heapq.heappop(self._heap)

    def restore(self, requests: list[Request]) -> None:
        for request in requests:
            self.add(request)

    def remove(self, request: Request) -> None:
        self._heap.remove(request)
        heapq.heapify(self._heap)


def waiting_line(policy: Policy) -> Line | PriorityLine:
    """The queue of ``policy``."""
    return Line() if policy == "fcfs" else PriorityLine()
