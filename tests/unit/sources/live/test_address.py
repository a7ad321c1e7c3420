import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import UsageError
from whystall.sources.live.address import Address, is_this_host, looks_like_a_path


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("localhost:8000", "http://localhost:8000"),
        (":8000", "http://localhost:8000"),
        ("gpu7", "http://gpu7:80"),
        ("http://h:8000", "http://h:8000"),
        ("http://h:8000/", "http://h:8000"),
        ("http://h:8000/metrics", "http://h:8000"),
        ("http://h:8000/metrics/", "http://h:8000"),
        ("http://h:8000/v1", "http://h:8000"),
        ("https://h/llm/a/metrics", "https://h:443/llm/a"),
        ("https://h/llm", "https://h:443/llm"),
        ("HTTP://H:8000", "http://h:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("http://user:pass@h:8000/metrics", "http://h:8000"),
        ("  localhost:8000 ", "http://localhost:8000"),
    ],
)
def test_what_a_person_types(text: str, base: str) -> None:
    assert Address.parse(text).base == base


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://",
        "ftp://h",
        "ray+http://h:1",
        "h:notaport",
        "h:99999",
        "http://[::1",
        "/tmp/x",
        "http://a b:1",
        "a|b",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address.parse(text)
    assert caught.value.hint


def test_a_query_is_kept_for_the_page_alone() -> None:
    address = Address.parse("http://h:1/metrics?name=vllm")
    assert address.url("/metrics") == "http://h:1/metrics?name=vllm"
    assert address.url("/version") == "http://h:1/version"


def test_credentials_are_never_shown() -> None:
    address = Address.parse("http://alice:hush@h:1/metrics?token=abcdef")
    assert (address.user, address.password) == ("alice", "hush")
    assert "hush" not in repr(address) + address.base
    assert address.secrets == ("hush", "abcdef")


def test_a_wrong_address_with_a_password_does_not_repeat_it() -> None:
    with pytest.raises(UsageError) as caught:
        Address.parse("http://alice:hush@h:notaport")
    assert "hush" not in caught.value.message


def test_which_host() -> None:
    assert is_this_host(Address.parse("localhost:1"))
    assert is_this_host(Address.parse("127.0.0.1:1"))
    assert is_this_host(Address.parse("[::1]:1"))
    assert not is_this_host(Address.parse("192.0.2.1:1"))
    assert not is_this_host(Address.parse("no-such-host.invalid:1"))


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_usage_error(text: str) -> None:
    try:
        base = Address.parse(text).base
    except UsageError:
        return
    assert Address.parse(base).base == base


@pytest.mark.parametrize(
    ("text", "path"), [("a/b", True), ("./a", True), ("~/a", True), ("h:1/a", False), ("h", False)]
)
def test_what_was_meant_as_a_path(text: str, path: bool) -> None:
    assert looks_like_a_path(text) == path
