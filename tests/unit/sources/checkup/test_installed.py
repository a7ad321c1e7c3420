import importlib.metadata

import pytest

from whystall.sources.checkup.installed import installed


def test_names_every_needed_package_and_extra() -> None:
    checks = {check.id: check for check in installed()}
    assert {"python", "numpy", "aiohttp", "click", "[gpu]"} <= checks.keys()
    assert checks["numpy"].text.en == importlib.metadata.version("numpy")
    assert all(check.how.en for check in checks.values() if check.state != "ok")


def test_what_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    checks = {check.id: check for check in installed()}
    assert (checks["numpy"].state, checks["[gpu]"].state) == ("failed", "missing")
    assert checks["[gpu]"].how.en == "pip install 'whystall[gpu]'"
