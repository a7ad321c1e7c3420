"""A change put into a command line: nothing else moves, whatever way the flag was written."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import UsageError
from whystall.sources.arguments import read_arguments
from whystall.trials.actuators.arguments import Shape, changed, differences

HEAD = "/models/m --max-num-seqs 8"
ARGUMENTS = ("/models/m", "--max-num-seqs", "8", "--no-enable-prefix-caching", "-tp", "2", "--dtype=bfloat16")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"--max-num-seqs": "64"}, "/models/m --max-num-seqs 64 --no-enable-prefix-caching -tp 2 --dtype=bfloat16"),
        ({"--tensor-parallel-size": "4"}, f"{HEAD} --no-enable-prefix-caching --tensor-parallel-size 4 --dtype=bfloat16"),
        ({"--no-enable-prefix-caching": ""}, "/models/m --max-num-seqs 8 -tp 2 --dtype=bfloat16"),
        ({"--enable-prefix-caching": "true"}, f"{HEAD} --enable-prefix-caching -tp 2 --dtype=bfloat16"),
        ({"--enforce-eager": "true"}, f"{shlex.join(ARGUMENTS)} --enforce-eager"),
        ({"--dtype": "", "--max-num-seqs": ""}, "/models/m --no-enable-prefix-caching -tp 2"),
    ],
)  # fmt: skip
def test_changes_a_flag_where_it_stands(flags: dict[str, str], expected: str) -> None:
    assert shlex.join(changed(ARGUMENTS, flags)) == expected


def test_an_old_name_of_the_flag_is_the_flag() -> None:
    assert changed(("m", "--kv-cache-memory", "5"), {"--kv-cache-memory-bytes": "9"}) == (
        "m",
        "--kv-cache-memory-bytes",
        "9",
    )
    assert changed(("m", "--max_num_seqs", "5"), {"--max-num-seqs": "9"}) == ("m", "--max-num-seqs", "9")


FLAGS = st.sampled_from(["--max-num-seqs", "--block-size", "--watermark", "--served-model-name", "--kv-cache-dtype"])
VALUES = st.one_of(st.integers(1, 9999).map(str), st.sampled_from(["fp8", "auto", "0.9"]))


@given(st.dictionaries(FLAGS, VALUES), st.dictionaries(FLAGS, st.one_of(VALUES, st.just(""))))
def test_what_is_read_back_is_the_old_with_the_change(old: dict[str, str], change: dict[str, str]) -> None:
    before = ("m", *(word for pair in old.items() for word in pair))
    names = {flag: flag[2:].replace("-", "_") for flag in {*old, *change}}
    expected = read_arguments(before) | {names[flag]: value for flag, value in change.items()}
    after = changed(before, change)
    assert read_arguments(after) == {name: value for name, value in expected.items() if value}
    back = {flag: old.get(flag, "") for flag in change}
    assert read_arguments(changed(after, back)) == read_arguments(before)


def test_says_what_goes_and_what_comes() -> None:
    assert differences(ARGUMENTS, changed(ARGUMENTS, {"--max-num-seqs": "64"})) == (
        "- --max-num-seqs 8",
        "+ --max-num-seqs 64",
    )


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ([], ["--model", "m", "--max-num-seqs", "8"]),
        (["vllm", "serve"], ["m", "--max-num-seqs", "8"]),
        (["vllm", "serve", "m", "--max-num-seqs", "8"], []),
        (["python3", "-m", "vllm.entrypoints.openai.api_server"], ["--max-num-seqs", "8"]),
        (["/bin/sh", "-c"], ["vllm serve m --max-num-seqs 8"]),
        (["bash", "-lc", "vllm serve m --max-num-seqs 8"], []),
    ],
)
def test_every_shape_of_a_container_is_kept(command: list[str], args: list[str]) -> None:
    shape = Shape(command, args)
    assert read_arguments(shape.arguments)["max_num_seqs"] == "8"
    new = shape.holding(changed(shape.arguments, {"--max-num-seqs": "64"}))
    assert (len(new[0]), len(new[1])) == (len(command), len(args))
    assert [word.replace("64", "8") for part in new for word in part] == [*command, *args]
    assert shape.holding(shape.arguments) == (command, args)


def test_a_script_is_not_changed() -> None:
    with pytest.raises(UsageError, match="shell script"):
        Shape(["sh", "-c"], ["vllm serve $MODEL --max-num-seqs 8 | tee log"])
