"""The command line: one file a verb, whose command bears its name and returns the exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

import click

from whystall import __version__
from whystall.cli.ending import end_by_sigterm, ended_by_sigterm
from whystall.cli.verbs import Verbs
from whystall.errors import InputError, Interrupted, NotWritable, UsageError, WhystallError

INTERNAL = 4
_LONGEST_SHOWN = 200
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
REPORT_HINT = (
    "This is a fault of whystall. Please report it with the command and, if you can, the input; "
    "WHYSTALL_DEBUG=1 shows the traceback."
)
_SEVERAL = "; of several servers: whystall compare A B, or whystall watch A B C --once"
_EXAMPLES = {
    "whystall diagnose": "http://localhost:8000",
    "whystall top": "http://localhost:8000",
    "whystall record": "http://localhost:8000 -o incident --for 60s",
    "whystall compare": "good-day bad-day",
    "whystall replay": "incident",
    "whystall trace": "rank*.pt.trace.json.gz",
    "whystall calibrate": "incident -o own.json",
    "whystall whatif": "http://localhost:8000 --set max-num-seqs=64",
    "whystall fix": "http://localhost:8000",
    "whystall explain": "kv_capacity",
}
_ONE_TARGET = {f"whystall {verb}": _SEVERAL for verb in ("diagnose", "record", "top", "doctor", "whatif")}


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 healthy, 1 bottleneck found, 2 usage or bad input, 3 could not tell, 4 internal, "
    "130 interrupted.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def whystall() -> None:
    """Why your LLM server stalls, what to change, and proof that it worked."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    _print_what_can_be_encoded()
    with ended_by_sigterm() as ending:
        code = run(sys.argv[1:] if argv is None else argv)
    if ending.told and code == Interrupted.exit_code:
        end_by_sigterm()
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code. The only place that catches everything."""
    try:
        return _invoke(list(argv))
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _tell(Interrupted("interrupted"), argv)
    except BrokenPipeError:
        return _quietly_closed()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _tell(_from_click(error), argv)
    except WhystallError as error:
        return _tell(error, argv)
    except OSError as error:
        known = _of_the_system(error)
        return _tell(known, argv) if known is not None else _fault(error, argv)
    except Exception as error:  # noqa: BLE001  the last resort, so that nobody meets a traceback
        return _fault(error, argv)


def _fault(error: Exception, argv: Sequence[str]) -> int:
    if os.environ.get("WHYSTALL_DEBUG"):
        traceback.print_exc()
    return _tell(WhystallError(f"{type(error).__name__}: {error}", REPORT_HINT), argv)


def _of_the_system(error: OSError) -> WhystallError | None:
    """What the system said of a file that no reader or writer foresaw, as a name that is too long, or of the output."""
    if error.filename is not None and error.strerror:
        name = str(error.filename)
        shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "…"
        return InputError(f"{shown}: {error.strerror}", "Check the name and the permissions, or give another.")
    return _full(error) if error.errno in _FULL else None


def _full(error: OSError) -> WhystallError:
    """The standard output goes to a file that takes no more. A named file is its writer's to tell of."""
    _forget_the_output()  # what it still holds cannot be written
    return NotWritable(f"the answer could not be written: {error.strerror}", "Send it to another place, or make room.")


def _print_what_can_be_encoded() -> None:
    """A terminal whose encoding lacks our marks (GBK, Latin-1) shows a ``?`` for them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _invoke(argv: list[str]) -> int:
    # Not click's own main(): it turns a closed pipe into exit code 1, which here means "bottleneck found".
    with whystall.make_context("whystall", argv) as context:
        code = whystall.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0


def _from_click(error: click.ClickException) -> WhystallError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "whystall"
    hint = f"Try: {path} --help"
    if isinstance(error, click.MissingParameter) and path in _EXAMPLES:
        hint = f"For example: {path} {_EXAMPLES[path]}; more: {path} --help"
    if "unexpected extra argument" in error.format_message():
        hint += _ONE_TARGET.get(path, "")
    return UsageError(error.format_message(), hint)


def _tell(error: WhystallError, argv: Sequence[str]) -> int:
    if _wants_json(argv):
        from whystall.reports.json import error_json  # not for every start: it brings numpy with it

        click.echo(error_json(error))
    else:
        click.echo(f"whystall: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
    return error.exit_code


def _wants_json(argv: Sequence[str]) -> bool:
    # From the arguments as they stand: a usage error comes before they are parsed.
    return not {"--json", "--format=json"}.isdisjoint(argv) or ("--format", "json") in pairwise(argv)


def _quietly_closed() -> int:
    _forget_the_output()  # the reader went away, as `| head` does
    return 128 + 13  # as a program that SIGPIPE ended


def _forget_the_output() -> None:
    # Python would complain again when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
