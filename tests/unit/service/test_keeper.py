from pathlib import Path

from msgspec.structs import replace

from kept_incidents import INCIDENT
from whystall.service.keeper import RETRY_S, Keeper
from whystall.service.log import Log
from whystall.sources.archive.store import Archive
from whystall.sources.exposition import PageParser


class Disk:
    """A keeper over a disk that can be filled and freed, and a clock that is set."""

    def __init__(self, path: Path) -> None:
        self.lines: list[str] = []
        self.t = 0.0
        self.archive = Archive.open(path)
        self.keeper = Keeper(self.archive, Log(write=self.lines.append), now=lambda: self.t)
        self.parser = PageParser()

    def room(self, pages: int) -> None:
        used = self.archive._connection.execute("PRAGMA page_count").fetchone()[0]
        self.archive._connection.execute(f"PRAGMA max_page_count = {used + pages}")

    def feed(self, *moments: int) -> None:
        for t in moments:
            text = "".join(f'series_{t}{{n="{n}"}} {n}.{t}\n' for n in range(100))
            self.keeper.add("a", float(t), self.parser.parse(text.encode()), self.parser.keys)


def test_a_full_disk_is_told_once_and_nothing_is_lost_when_there_is_room_again(tmp_path):
    disk = Disk(tmp_path / "watch.sqlite")
    disk.feed(1)
    disk.room(0)
    disk.feed(*range(2, 20))
    disk.keeper.write_incident(INCIDENT)
    state = disk.keeper.state()
    assert "disk is full" in state.error
    assert state.held > 0
    assert len([line for line in disk.lines if "in memory" in line]) == 1
    disk.room(1000)
    disk.t += RETRY_S + 1
    disk.feed(20)
    assert disk.keeper.state().error == ""
    assert disk.keeper.state().held == 0
    assert disk.archive.table("a", 0, 100).times.tolist() == list(range(1, 21))
    assert [one.uid for one in disk.keeper.incidents(10)] == ["u"]


def test_while_it_waits_the_newest_state_of_an_incident_is_held(tmp_path):
    disk = Disk(tmp_path / "watch.sqlite")
    disk.room(0)
    disk.feed(*range(20))
    disk.keeper.write_incident(INCIDENT)
    disk.keeper.write_incident(replace(INCIDENT, state="recovered", recovered=9.0))
    disk.room(1000)
    disk.keeper.close()
    with Archive.read(tmp_path / "watch.sqlite") as archive:
        (kept,) = archive.incidents(10)
        assert kept.state == "recovered"
        assert len(archive.table("a", -1, 100).times) == 20
