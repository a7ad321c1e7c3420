from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from whystall.cli.options import FOR, output_options, reading_options
from whystall.cli.output import Output
from whystall.cli.reading import Asked
from whystall.errors import UsageError
from whystall.model.slo import Slo

seen: dict[str, Any] = {}


@click.command()
@click.argument("target")
@reading_options()
@output_options(("text", "json"))
def verb(target: str, asked: Asked, output: Output) -> None:
    seen.update(target=target, asked=asked, output=output)


@click.command()
@reading_options(FOR)
def short(asked: Asked) -> None:
    seen.update(asked=asked)


def call(command: click.Command, *arguments: str) -> None:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_hands_over_two_values(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    call(
        verb, "http://a:1", "--for", "5m", "--slo", "ttft_p95=1s", "--header", "X-A: b:c", "--header", "D:",
        "--ca", str(tmp_path / "ca.pem"), "--timeout", "250ms", "--json", "--lang", "zh", "--server-args", "vllm serve",
    )  # fmt: skip
    asked, output = seen["asked"], seen["output"]
    assert (asked.seconds, asked.timeout_s, asked.interval_s) == (300.0, 0.25, None)
    assert asked.slo == Slo(ttft_p95_s=1.0)
    assert asked.headers == (("X-A", "b:c"), ("D", ""))
    assert (asked.ca, asked.server_args) == (tmp_path / "ca.pem", "vllm serve")
    assert output == Output(format="json", lang="zh", file=None)


def test_the_configuration_gives_the_language(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('lang = "zh"\n[targets.prod]\nurl = "http://b:2"')
    call(verb, "prod", "--config", str(config))
    assert seen["output"].lang == "zh"
    assert seen["asked"].of("prod").target == "http://b:2"


def test_a_verb_may_take_some_of_them() -> None:
    call(short, "--for", "2s")
    assert seen["asked"] == Asked(seconds=2.0)
    assert CliRunner().invoke(short, ["--slo", "errors=1%"]).exit_code == 2


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--for", "soon", "--for"),
        ("--slo", "x=1", "--slo"),
        ("--header", "x", "--header"),
    ],
)
def test_errors_name_the_option(option: str, value: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        CliRunner().invoke(verb, ["t", option, value], catch_exceptions=False)


@pytest.mark.parametrize("arguments", [["--format", "html"], ["--ca", "/no/such/file"], ["--lang", "fr"]])
def test_click_refuses(arguments: list[str]) -> None:
    assert CliRunner().invoke(verb, ["t", *arguments]).exit_code == 2
