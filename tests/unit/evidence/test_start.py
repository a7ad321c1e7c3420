"""What a start of the server brought: another version, youth, losses that end, offloading."""

from scenes import CALM, evidence_of

CONFIG = "Initializing a V1 LLM engine (v{v}) with config: model='m', tensor_parallel_size=1"
SLOW = {"itl_ms": 60}


def log(*starts: tuple[float, str]) -> list[list[object]]:
    """A start's first two lines that tell."""
    return [[t, text] for t, v in starts for text in ("non-default args: {}", CONFIG.format(v=v))]


def test_another_version_since_the_incident_is_named_with_its_onset() -> None:
    seen = evidence_of({}, SLOW, log=log((0, "0.26.0"), (19, "0.32.0")))["version.changed"]
    assert seen.strength == 1.5
    assert seen.onset is not None
    assert seen.onset.seconds == 19
    assert "0.32.0" in seen.text.en


def test_a_version_that_changed_long_before_counts_little() -> None:
    seen = evidence_of({"seconds": 60}, SLOW, log=log((0, "0.26.0"), (5, "0.32.0")))["version.changed"]
    assert 0 < seen.strength < 0.3


def test_one_version_throughout_speaks_against_it() -> None:
    assert evidence_of({}, SLOW, log=log((0, "0.26.0"), (19, "0.26.0")))["version.changed"].strength < 0


def test_without_a_start_in_the_log_nothing_is_said() -> None:
    assert "version.changed" not in evidence_of({}, SLOW)


def test_age_is_counted_to_the_incident() -> None:
    assert evidence_of({}, SLOW, age_s=30)["server.young"].strength > 1
    assert evidence_of({}, SLOW, age_s=86_400)["server.young"].strength < 0


def test_losses_that_stay_do_not_settle() -> None:
    late = {"seconds": 2, "slow_tokens": [0.6, 900]}
    waves = [phase for _ in range(12) for phase in (late, {"seconds": 2})]
    assert evidence_of(*waves)["loss.settles"].strength < 0.3


def test_losses_that_die_away_settle() -> None:
    shares = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    waves = [phase for s in shares for phase in ({"seconds": 2, "slow_tokens": [s, 900]}, {"seconds": 2})]
    assert evidence_of(*waves, {"seconds": 60})["loss.settles"].strength >= 1


def test_offloading_is_read_from_the_flags() -> None:
    argv = ["vllm", "serve", "m", "--kv-offloading-size", "64"]
    assert evidence_of({}, argv=argv)["config.kv_offload"].strength > 0
    assert evidence_of({})["config.kv_offload"].strength < 0
    assert CALM["itl_ms"] == 10
