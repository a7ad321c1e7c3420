"""The root of the command line, its errors and its exit codes, with verbs made for the test."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from whystall import cli
from whystall.__main__ import start
from whystall.cli import run, verbs
from whystall.errors import NotMetrics, Refused, Unreachable, WhystallError


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Installs a function as the verb ``diagnose``."""

    def install(body: Callable[[], object]) -> None:
        command = click.command("diagnose")(click.option("--json", "json_", is_flag=True)(lambda json_: body()))
        monkeypatch.setattr(verbs.Verbs, "list_commands", lambda *_: ["diagnose"])
        monkeypatch.setattr(verbs.Verbs, "get_command", lambda *_: command)

    return install


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


@pytest.mark.parametrize(("answer", "code"), [(0, 0), (1, 1), (3, 3), (None, 0)])
def test_a_verb_returns_the_exit_code(verb, answer: int | None, code: int) -> None:
    verb(lambda: answer)
    assert run(["diagnose"]) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotMetrics("m", "h"), 2), (Refused("m", "h"), 2), (Unreachable("m", "h"), 3), (WhystallError("m", "h"), 4),
        (ZeroDivisionError("x"), 4), (KeyboardInterrupt(), 130), (click.Abort(), 130), (click.UsageError("m"), 2),
        (click.FileError("f"), 2),
    ],
)  # fmt: skip
def test_exit_codes(verb, error: BaseException, code: int) -> None:
    verb(raising(error))
    assert run(["diagnose"]) == code


def test_an_error_says_what_and_what_next(verb, capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(Unreachable("nothing answers at http://a:1", "Is the server running?")))
    run(["diagnose"])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "whystall: nothing answers at http://a:1\nhint: Is the server running?\n"


@pytest.mark.parametrize("arguments", [["diagnose", "--json"], ["--format", "json"], ["--format=json", "nonsense"]])
def test_under_json_an_error_is_one_object(verb, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    verb(raising(Unreachable("not there", "look")))
    code = run(arguments)
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert answer.keys() == {"schema", "error", "hint", "exit_code"}
    assert (answer["schema"], answer["exit_code"]) == ("whystall.error/1", code)
    assert err == ""


def test_no_traceback_unless_asked(verb, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    verb(raising(ValueError("odd")))
    run(["diagnose"])
    quiet = capsys.readouterr().err
    assert "ValueError: odd" in quiet
    assert "Traceback" not in quiet
    assert "report" in quiet
    monkeypatch.setenv("WHYSTALL_DEBUG", "1")
    run(["diagnose"])
    assert "Traceback" in capsys.readouterr().err


def test_without_a_verb_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Usage: whystall" in capsys.readouterr().err


def test_an_unknown_verb_names_the_nearest(verb, capsys: pytest.CaptureFixture[str]) -> None:
    verb(lambda: 0)
    assert run(["diagnos"]) == 2
    assert "whystall diagnose?" in capsys.readouterr().err


def test_every_listed_verb_is_a_command_with_help() -> None:
    group = cli.whystall
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        assert command.help, name
        assert " ".join(command.help.split("\n\n")[0].split()) == verbs.VERBS[name]
        assert run([name, "--help"]) == 0


def test_every_verb_module_is_in_the_table() -> None:
    """A verb without a line in the table could never be run."""
    from pathlib import Path

    texts = {path.stem: path.read_text() for path in Path(cli.__file__).parent.glob("*.py")}
    commands = {name for name, text in texts.items() if "@click.command" in text and f"def {name}(" in text}
    assert commands <= verbs.VERBS.keys()


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from whystall.cli import run; run(['--help']); "
        "sys.exit(any(m in sys.modules for m in ('numpy', 'aiohttp', 'rich', 'jinja2', 'asyncio')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_closed_pipe_is_quiet() -> None:
    code = (
        "import os, sys; from whystall import cli; r, w = os.pipe(); os.close(r); os.dup2(w, 1); cli.main(['--help'])"
    )
    result = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (141, b"")


def test_runs_as_a_module() -> None:
    result = subprocess.run([sys.executable, "-m", "whystall", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("whystall ")


@pytest.mark.parametrize("arguments", [["diagnose"], ["diagnose", "--json"]])
def test_an_interruption_is_told(verb, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    verb(raising(KeyboardInterrupt()))
    assert run(arguments) == 130
    out, err = capsys.readouterr()
    if "--json" in arguments:
        assert json.loads(out)["exit_code"] == 130
    else:
        assert (out, err) == ("", "whystall: interrupted\n")


def test_an_interruption_while_it_loads_leaves_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "whystall.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "whystall.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        start()
    assert left.value.code == 130


@pytest.mark.parametrize("verb", ["diagnose", "record", "doctor"])
def test_two_targets_where_one_is_wanted_name_what_takes_two(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, ":8000", ":8001", *(["-o", "x"] if verb == "record" else [])]) == 2
    told = capsys.readouterr().err
    assert f"Try: whystall {verb} --help; of several servers: whystall compare A B" in told


def test_every_usage_error_has_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mcp", "--allow"]) == 2
    assert "hint: Try: whystall" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_output_that_is_full_is_told(more: list[str]) -> None:
    argv = [sys.executable, "-m", "whystall", "explain", "kv_capacity", *more]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert b"fault of whystall" not in result.stderr
    assert more or b"could not be written" in result.stderr


@pytest.mark.parametrize("encoding", ["gbk", "latin-1"])
def test_a_terminal_that_lacks_our_marks_still_gets_the_answer(encoding: str) -> None:
    argv = [sys.executable, "-m", "whystall", "explain", "kv_capacity", "--lang", "zh"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    result = subprocess.run(argv, capture_output=True, check=False, env=env)
    assert (result.returncode, result.stderr) == (0, b"")
    assert "kv_capacity" in result.stdout.decode(encoding)


def test_a_verb_without_its_target_gives_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["diagnose"]) == 2
    assert "whystall diagnose http://localhost:8000" in capsys.readouterr().err


def test_each_example_is_of_a_verb_and_can_be_parsed() -> None:
    for path, example in cli._EXAMPLES.items():
        verb = path.split()[1]
        command = cli.whystall.get_command(click.Context(cli.whystall), verb)
        assert command is not None
        said = ""
        try:
            command.make_context(verb, example.split())
        except click.UsageError as error:
            said = error.format_message()
        assert not said or "does not exist" in said  # a file of the example


@pytest.mark.parametrize("verb", ["diagnose", "trace", "whatif", "fix", "compare", "init", "doctor"])
def test_a_name_that_no_file_system_takes_is_no_fault(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "./" + "a" * 5000
    more = {"whatif": ["--set", "max-num-seqs=64"], "compare": [name]}.get(verb, [])
    assert cli.run([verb, name, *more]) == 2
    told = capsys.readouterr().err
    assert "fault of whystall" not in told


def test_an_address_with_a_long_query_is_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["diagnose", "prometheus+http://127.0.0.1:9?job=" + "a" * 5000]) == 3
    assert "127.0.0.1:9" in capsys.readouterr().err
