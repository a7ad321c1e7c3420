"""The verbs: a static table, so that ``whystall --help`` imports none of them."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path

import click

from whystall.errors import UsageError

VERBS = {
    "demo": "Watch a server run into its limit, and see it found, fixed and proven.",
    "diagnose": "Say what limits a server or a recording, since when, and what to change.",
    "compare": "Say what differs between two servers or recordings, and what changed first.",
    "record": "Keep what a server says in a folder, to diagnose or replay later.",
    "replay": "Serve a recording as a live server, on this machine only.",
    "watch": "Watch servers, and tell you when one stalls.",
    "top": "Show a server live in the terminal.",
    "profile": "Profile some steps of a server, and say where their time went.",
    "trace": "Say where a step's, a request's or a rank's time went.",
    "calibrate": "Fit the engine's model to a server that was recorded.",
    "emulate": "Serve an emulated vLLM with the faults you set.",
    "lab": "Experiments: what is expected, what is seen, what the diagnosis says.",
    "whatif": "Say what a change would buy, before making it.",
    "trial": "Prove a change by an A/B run under load.",
    "fix": "Apply a remedy, check that it helped, and roll back where it did not.",
    "cases": "Find, keep and learn from past incidents.",
    "explain": "Say what a cause, a flag of the server or a metric is.",
    "doctor": "Say what is installed, reachable and readable.",
    "init": "Write a first whystall.toml, and what Prometheus, Grafana, systemd or Kubernetes need.",
    "export": "Write alert rules and dashboards, from the catalogue that the diagnosis has.",
    "mcp": "Serve the verbs that read to an assistant.",
}


class Verbs(click.Group):
    """Lists a verb where its file exists, and imports it when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs that exist, in the table's order."""
        here = Path(__file__).parent
        return [verb for verb in VERBS if (here / f"{verb}.py").is_file()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of the verb's module; None where there is no such verb."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = getattr(importlib.import_module(f"whystall.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but an unknown verb names the nearest one."""
        listed = self.list_commands(ctx)
        if args and args[0] not in listed and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], listed, n=1)
            raise UsageError(
                f"{args[0]!r} is not a verb of whystall",
                f"Did you mean: whystall {near[0]}?" if near else "The verbs are listed by: whystall --help",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list below ``--help``; click's own would import every verb for its first line."""
        rows = [(verb, VERBS[verb]) for verb in self.list_commands(ctx)]
        if rows:
            with formatter.section("Verbs"):
                formatter.write_dl(rows)
