"""An incident as a store has it."""

from whystall.model.diagnosis import Engine
from whystall.model.incident import Incident, IncidentStep
from whystall.model.text import Text

INCIDENT = Incident(
    uid="u", id=1, key="a/limit", engine_id="a", target="http://a", engine=Engine(), kind="limit", state="open",
    verdict="bottleneck", headline=Text("full", "满"), since=0.0, opened=1.0, updated=1.0,
    steps=(IncidentStep("opened", 1.0, Text("full", "满")),),
)  # fmt: skip
