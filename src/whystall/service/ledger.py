"""All incidents of this store: those that are open, those that are over."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from whystall.model.incident import Incident

MOST = 1000  # that are held in memory; the store has all


class IncidentStore(Protocol):
    """Where incidents are kept."""

    def write_incident(self, incident: Incident) -> int:
        """Keep ``incident``, under its id or, where that is 0, a new one; its id."""
        ...

    def incidents(self, limit: int) -> list[Incident]:
        """The newest, the newest first."""
        ...


class Ledger:
    """Incidents by number. Without a store they live in memory."""

    def __init__(self, store: IncidentStore | None = None) -> None:
        self._store = store
        known = store.incidents(MOST) if store is not None else []
        self._incidents = {incident.id: incident for incident in reversed(known)}
        self._last = max(self._incidents, default=0)

    def write(self, incident: Incident) -> Incident:
        """Keep ``incident``; what comes back has its number. Raises what the store raises, after it was kept in memory."""
        number = incident.id or self._last + 1
        incident = replace(incident, id=number)
        self._last = max(self._last, number)
        self._incidents[number] = incident
        while len(self._incidents) > MOST:
            self._incidents.pop(next(iter(self._incidents)))
        if self._store is not None:
            self._store.write_incident(incident)
        return incident

    def get(self, number: int) -> Incident | None:
        """Incident ``number``, None where it is not known."""
        return self._incidents.get(number)

    def newest(self, limit: int = MOST) -> list[Incident]:
        """The newest first."""
        return list(reversed(self._incidents.values()))[:limit]

    def open(self) -> list[Incident]:
        """Those that are not over."""
        return [incident for incident in self._incidents.values() if not incident.ended]
