from states import blank
from whystall.causes.questions import FIRST_TOKEN_LATE, STREAM_SLOW, next_question, questions
from whystall.evidence.symptoms import symptoms
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text


def seen(name: str, strength: float) -> dict[str, Evidence]:
    return {name: Evidence(name, strength, "", strength, Text("x"), "metrics")}


def test_first_tokens_late_asks_the_queue_then_prefill_then_the_front_end() -> None:
    assert questions({"queue": 1.0, "itl": 0.0}) == FIRST_TOKEN_LATE
    assert [q.evidence[0] for q in FIRST_TOKEN_LATE] == ["queue.delay", "prefill.busy", "front.residual"]


def test_a_slow_stream_asks_the_batch_and_the_kernels_first() -> None:
    assert questions({"itl": 1.0}) == STREAM_SLOW
    assert questions({"itl": 1.0, "queue": 0.3})[: len(STREAM_SLOW)] == STREAM_SLOW
    assert questions({"itl": 0.2, "queue": 0.9})[: len(FIRST_TOKEN_LATE)] == FIRST_TOKEN_LATE


def test_nothing_lost_asks_nothing() -> None:
    assert questions({}) == ()
    assert next_question({"itl": 0.0}, {}) is None


def test_every_kind_of_loss_has_its_questions() -> None:
    for kind in symptoms(blank([1.0, 1.0])):
        assert questions({kind: 1.0})


def test_what_its_evidence_points_to_is_asked_first_and_then_what_was_not_seen() -> None:
    pointed = next_question({"queue": 1.0}, seen("front.residual", 1.0))
    assert pointed is FIRST_TOKEN_LATE[2]
    unseen = next_question({"queue": 1.0}, seen("queue.delay", -1.0))
    assert unseen is FIRST_TOKEN_LATE[1]
