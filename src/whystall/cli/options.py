"""Options that verbs share. A decorator takes a group of them and hands the verb one value instead of twelve."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from whystall.errors import UsageError
from whystall.model.duration import parse_duration
from whystall.model.slo import EXAMPLE, Slo
from whystall.model.text import LANGUAGES
from whystall.reports import FORMATS

from .language import language
from .output import Output, chosen_format, unknown_ending
from .reading import TOKEN_VARIABLE, Asked
from .settings import FILE_NAME, load_settings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Option = Callable[[F], F]


def _naming(parse: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """A click callback that parses an option's text and names the option in the error."""

    def callback(_: click.Context, param: click.Parameter, value: str | None) -> T | None:
        try:
            return parse(value) if value is not None else None
        except UsageError as error:
            raise UsageError(f"{param.opts[0]}: {error.message}", error.hint) from error

    return callback


def _headers(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple(_header(value) for value in values)


def _header(text: str) -> tuple[str, str]:
    name, colon, content = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header: {text!r} is no header", "Write it as 'Name: value'.")
    return name.strip(), content.strip()


def duration_option(flag: str, name: str, text: str) -> Option[Any]:
    """An option that takes a length of time and gives seconds, or None where it was not given."""
    return click.option(flag, name, metavar="DURATION", callback=_naming(parse_duration), help=text)


_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)

CONFIG = click.option(
    "--config", type=_EXISTING, help=f"The configuration file [default: ./{FILE_NAME} if it is there]."
)
LANG = click.option("--lang", type=click.Choice(LANGUAGES), help="Language [default: WHYSTALL_LANG, else the locale].")
FOR = duration_option("--for", "seconds", "How long to look [default: 30s].")
INTERVAL = duration_option("--interval", "interval_s", "Time between scrapes [default: 1s].")
SLO = click.option("--slo", metavar="BOUNDS", callback=_naming(Slo.parse), help=f"What was promised, as in {EXAMPLE}.")
LOG = click.option("--log", type=_EXISTING, help="The server's log file.")
SERVER_ARGS = click.option("--server-args", default="", help="The server's command line, as one text.")
STORE = click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The store of cases [default: in the state folder].",
)
ACCESS = (
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="HEADER",
        callback=_headers,
        help="'Name: value' to send; may be repeated.",
    ),
    click.option("--token-file", type=_EXISTING, help=f"A file with the bearer token [default: ${TOKEN_VARIABLE}]."),
    click.option("--ca", type=_EXISTING, help="The CA certificate to trust."),
    click.option("--cert", type=_EXISTING, help="The client's certificate."),
    click.option("--key", type=_EXISTING, help="The client certificate's key."),
    duration_option("--timeout", "timeout_s", "How long to wait for an answer [default: 10s]."),
)
COMPANIONS = (
    click.option("--dcgm", default="", metavar="URL", help="A DCGM exporter of the server's host: its GPUs."),
    click.option("--node-exporter", default="", metavar="URL", help="A node_exporter of the server's host."),
    click.option(
        "--otlp-listen",
        default="",
        metavar="ADDRESS",
        help="Receive spans here: 127.0.0.1:4318, grpc://127.0.0.1:4317.",
    ),
    click.option("--jaeger", default="", metavar="URL", help="Ask this Jaeger for the window's spans."),
    click.option("--zipkin", default="", metavar="URL", help="Ask this Zipkin for the window's spans."),
    click.option("--kernel-log", type=_EXISTING, help="The host's kernel log: journalctl -k -o short-iso."),
    click.option(
        "--peer",
        "peers",
        multiple=True,
        metavar="URL",
        help="Another whystall daemon: round trips to its host. Repeat.",
    ),
    click.option("--service", default="vllm", help="The service that the spans belong to [default: vllm]."),
)
READING = (FOR, INTERVAL, SLO, LOG, SERVER_ARGS, *ACCESS)


def reading_options(*options: Option[Any]) -> Option[Any]:
    """Give a verb the parameter ``asked``, an :class:`~whystall.cli.reading.Asked`.

    Takes all the options that say how a target is read, or only those named; ``--config`` always comes with them.
    """
    chosen = options or READING

    def decorate(verb: Callable[..., Any]) -> Any:
        names = _names(chosen)

        @functools.wraps(verb)
        def with_asked(*args: Any, config: Path | None, **given: Any) -> Any:
            values = {name: given.pop(name) for name in names}
            asked = Asked(settings=load_settings(config), config=config, **values)
            return verb(*args, asked=asked, **given)

        return _with(with_asked, (*chosen, CONFIG), verb)

    return decorate


def output_options(formats: tuple[str, ...] = FORMATS) -> Option[Any]:
    """Give a verb the parameter ``output``, an :class:`~whystall.cli.output.Output`; ``formats`` are those it has."""
    options = (
        click.option(
            "--format", "format_", type=click.Choice(formats), help="What the answer looks like [default: text]."
        ),
        click.option("--json", "json_", is_flag=True, help="The same as --format json."),
        click.option("-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE."),
        click.option(
            "--width", type=click.IntRange(40, 400), help="Columns of a text [default: the terminal's, at most 120]."
        ),
        LANG,
    )

    def decorate(verb: Callable[..., Any]) -> Any:
        @functools.wraps(verb)
        def with_output(
            *args: Any,
            format_: str | None,
            json_: bool,
            file: Path | None,
            width: int | None,
            lang: str | None,
            **given: Any,
        ) -> Any:
            asked = given.get("asked")
            configured = asked.settings.lang if isinstance(asked, Asked) else ""
            output = Output(chosen_format(format_, json_, file), language(lang, configured), file, width)
            note = unknown_ending(format_, json_, file)
            if note is not None:
                click.echo(note.in_(output.lang), err=True)
            return verb(*args, output=output, **given)

        return _with(with_output, options, verb)

    return decorate


def _names(options: tuple[Option[Any], ...]) -> list[str]:
    """The parameters that some options give, as click names them."""

    def probe() -> None: ...

    return [str(param.name) for param in _with(probe, options, probe).__click_params__]


def _with(decorated: Any, options: tuple[Option[Any], ...], verb: Any) -> Any:
    decorated.__click_params__ = list(getattr(verb, "__click_params__", []))
    for option in reversed(options):
        option(decorated)
    return decorated
