"""The terminal's live screen of one server (textual). What it shows is made in ``screen_parts``."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widgets import DataTable, Footer, Static

from whystall.errors import WhystallError
from whystall.model.diagnosis import Cause, Verdict
from whystall.model.text import Text
from whystall.reports.finding import Finding

from .live_feed import Feed, Look
from .screen_parts import CauseRow, answer_lines, cause_rows, chosen, picture_lines, status_line, why_lines

_COLUMNS = (
    Text("Probability", "概率"),
    Text("Cause", "原因"),
    Text("Role", "角色"),
    Text("Since (UTC)", "起点（UTC）"),
)
VERDICTS: tuple[Verdict, ...] = ("healthy", "bottleneck", "unknown")


class Screen(App[WhystallError | None]):
    """Runs until ``q``; its return value is the error that ended it, None where a person did."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "whystall top"
    CSS = """
    Screen { layout: vertical; }
    #status { height: 1; color: $text-muted; }
    #answer { height: auto; max-height: 6; padding: 0 1; border-left: thick $primary; }
    #answer.healthy { border-left: thick $success; }
    #answer.bottleneck { border-left: thick $error; }
    #answer.unknown { border-left: thick $warning; }
    #pictures { height: auto; max-height: 50%; padding: 1 1 0 1; }
    #causes { height: auto; max-height: 8; overflow-x: hidden; }
    #whys { height: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("escape", "quit", "quit", show=False),
        Binding("p", "pause", "pause"),
        Binding("e", "engine", "next engine"),
        Binding("l", "language", "en/中文"),
    ]

    def __init__(self, feed: Feed, target: str, lang: str = "en") -> None:
        super().__init__()
        self._feed = feed
        self._target = target
        self._lang = lang
        self._look: Look | None = None
        self._rows: list[CauseRow] = []
        self._number = 0
        self.paused = False

    def compose(self) -> ComposeResult:
        """The parts from top to bottom."""
        yield Static(id="status", markup=False)
        yield Static(id="answer", markup=False)
        yield Static(id="pictures", markup=False)
        yield DataTable(id="causes", cursor_type="row")
        with VerticalScroll(id="whys", can_focus=False):
            yield Static(id="why", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Start to watch."""
        self._head_table()
        self.show()
        self.watch_server()

    @work(exit_on_error=True)
    async def watch_server(self) -> None:
        """Show each look until the feed ends; leave with the error where it could not begin."""
        try:
            async for look in self._feed.looks(lambda: self.paused):
                self._look = look
                self.show()
        except WhystallError as error:
            self.exit(error)

    @property
    def finding(self) -> Finding | None:
        """What is shown: the finding of the chosen engine."""
        found = self._look.finding if self._look else None
        return chosen(found, self._number) if found else None

    def show(self) -> None:
        """Draw everything anew from what is known; nothing while the screen is being taken down around a look."""
        if not self.query("#status"):
            return
        finding, lang = self.finding, self._lang
        look = self._look
        if look is not None and finding is not None:
            look = Look(look.t, finding, look.error, look.scrapes, look.failed)
        self.query_one("#status", Static).update(status_line(look, self._target, lang, paused=self.paused))
        answered = self.query_one("#answer", Static)
        answered.update("\n".join(answer_lines(look, lang)))
        for verdict in VERDICTS:
            answered.set_class(finding is not None and finding.diagnosis.verdict == verdict, verdict)
        self._draw()
        self._fill(cause_rows(finding.diagnosis, lang) if finding else [])
        self._explain()

    def on_resize(self, event: Resize) -> None:
        """The pictures are as wide as the terminal."""
        self._draw(event.size.width)

    def _draw(self, width: int = 0) -> None:
        timeline = self.finding.timeline if self.finding else None
        lines = picture_lines(timeline, self._lang, (width or self.size.width) - 2)
        self.query_one("#pictures", Static).update("\n".join(lines))

    def _head_table(self) -> None:
        table: DataTable[str] = self.query_one("#causes", DataTable)
        table.clear(columns=True)
        table.add_columns(*(column.in_(self._lang) for column in _COLUMNS))

    def _fill(self, rows: list[CauseRow]) -> None:
        if rows == self._rows:
            return
        table: DataTable[str] = self.query_one("#causes", DataTable)
        at = self._rows[table.cursor_row].id if self._rows and table.cursor_row < len(self._rows) else ""
        self._rows = rows
        table.clear()
        for row in rows:
            table.add_row(row.chance, row.title, row.role, row.since)
        # The cursor stays on its cause, wherever that one went.
        place = next((number for number, row in enumerate(rows) if row.id == at), 0)
        table.move_cursor(row=place)

    def on_data_table_row_highlighted(self) -> None:
        """The whys are those of the cause under the cursor."""
        self._explain()

    def _explain(self) -> None:
        self.query_one("#why", Static).update("\n".join(why_lines(self._cause(), self._lang)) if self.finding else "")

    def _cause(self) -> Cause | None:
        causes = self.finding.diagnosis.causes if self.finding else ()
        place = self.query_one("#causes", DataTable).cursor_row
        return causes[place] if place < len(causes) else None

    def action_pause(self) -> None:
        """Keep what is shown; scraping goes on."""
        self.paused = not self.paused
        self.show()

    def action_engine(self) -> None:
        """The next engine of the page."""
        self._number += 1
        self.show()

    def action_language(self) -> None:
        """English or Chinese."""
        self._lang = "zh" if self._lang == "en" else "en"
        self._rows = []
        self._head_table()
        self.show()
