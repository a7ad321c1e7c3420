"""What a Ray cluster says of itself."""

from __future__ import annotations

import msgspec


class RayNode(msgspec.Struct, frozen=True):
    """``gpus`` is how many Ray counts there; ``state`` ALIVE or DEAD, ``message`` why."""

    id: str
    ip: str
    state: str
    gpus: float = 0.0
    message: str = ""


class RayReplica(msgspec.Struct, frozen=True):
    """A replica of a Serve deployment and its state: STARTING, RUNNING, STOPPING and others."""

    id: str
    state: str
    node_ip: str = ""


class RayDeployment(msgspec.Struct, frozen=True):
    """A Serve deployment: its status (HEALTHY, UNHEALTHY, UPSCALING, …), why, how many replicas are wanted and are."""

    application: str
    name: str
    status: str
    message: str = ""
    wanted: int | None = None
    replicas: tuple[RayReplica, ...] = ()

    @property
    def running(self) -> int:
        return sum(1 for replica in self.replicas if replica.state == "RUNNING")


class RayApplication(msgspec.Struct, frozen=True):
    """A Serve application; ``argv`` is its engine's arguments as a command line, empty where they are not told."""

    name: str
    status: str
    message: str = ""
    argv: tuple[str, ...] = ()


class RayGroup(msgspec.Struct, frozen=True):
    """A placement group and its state: PENDING, PREPARED, CREATED, REMOVED, RESCHEDULING."""

    id: str
    name: str
    state: str


class RayJob(msgspec.Struct, frozen=True):
    """A job and its status: PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED."""

    id: str
    status: str
    message: str = ""


class Cluster(msgspec.Struct, frozen=True):
    """All of it. ``demand`` is what waits for resources, in words; ``unseen`` what the dashboard did not answer."""

    version: str
    nodes: tuple[RayNode, ...] = ()
    groups: tuple[RayGroup, ...] = ()
    applications: tuple[RayApplication, ...] = ()
    deployments: tuple[RayDeployment, ...] = ()
    jobs: tuple[RayJob, ...] = ()
    demand: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    def deployment_of(self, replica: str) -> RayDeployment | None:
        """The deployment that a replica belongs to."""
        return next((d for d in self.deployments if any(r.id == replica for r in d.replicas)), None)

    def argv_of(self, application: str) -> tuple[str, ...]:
        return next((a.argv for a in self.applications if a.name == application), ())
