import pytest

from whystall.errors import UsageError
from whystall.sources.live.access import Access, tls_context


def test_secrets_are_not_in_its_repr() -> None:
    access = Access(headers=(("X-Key", "hush"),), token="t0ken")
    assert "hush" not in repr(access)
    assert "t0ken" not in repr(access)
    assert "X-Key" in repr(access)
    assert access.secrets == ("t0ken", "hush")


@pytest.mark.parametrize(
    "access", [Access(token="a\nb"), Access(headers=(("X", "a\r\nY: b"),)), Access(headers=(("X\0", "a"),))]
)
def test_a_header_that_would_add_others_is_refused(access: Access) -> None:
    with pytest.raises(UsageError):
        access.check()


def test_certificates_that_cannot_be_loaded(tmp_path) -> None:
    (tmp_path / "x.pem").write_text("no certificate")
    for access in (Access(ca=tmp_path / "x.pem"), Access(ca=tmp_path / "none"), Access(certificate=tmp_path / "x.pem")):
        with pytest.raises(UsageError, match=r"--c"):
            tls_context(access)


def test_a_servers_certificate_is_always_checked() -> None:
    context = tls_context(Access())
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"
