from whystall.causes.catalogue import catalogue
from whystall.reports.phrases import PHRASES
from whystall.service.api_catalogue import words


def test_every_cause_and_phrase_is_there():
    assert set(words().causes) == set(catalogue())
    assert words().phrases == PHRASES
