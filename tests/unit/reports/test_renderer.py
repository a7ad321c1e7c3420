import pytest

import findings
from whystall.errors import UsageError
from whystall.reports import FORMATS, render


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [findings.bottleneck, findings.healthy, findings.unknown, findings.several])
def test_every_finding_renders_in_every_format(make, format, lang):
    text = render(make(), format, lang)
    assert make().diagnosis.headline.in_(lang).split("：")[0].split(":")[0] in text
    assert text.endswith("\n") or format in ("json", "html")


def test_an_unknown_format_is_refused_by_name():
    with pytest.raises(UsageError, match="pdf"):
        render(findings.healthy(), "pdf")
