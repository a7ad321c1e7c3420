from whystall.sources.live.pseudonyms import Pseudonyms


def test_the_same_text_has_the_same_name_and_another_one_another() -> None:
    names = Pseudonyms()
    assert names.of("acme", "model") == names.of("acme", "model") == "model-1"
    assert names.of("other", "model") == "model-2"
    assert names.of("other-host", "host") == "host-1"


def test_a_name_that_was_given_stands_for_itself() -> None:
    names = Pseudonyms()
    names.learn("acme", "model")
    assert names.of("model-1", "path") == "model-1"
    assert names.learn("model-1", "path") == "model-1"
    assert names.replace("model-1") == "model-1"


def test_what_was_learnt_is_found_with_its_parts_in_any_case_but_not_within_words() -> None:
    names = Pseudonyms()
    names.learn("Acme/Secret-70B", "model")
    assert names.replace("load Acme/Secret-70B") == "load model-1"
    assert names.replace("models--acme--secret-70b") == "models--model-1"
    assert names.replace("secret-70b and ACME, not acmeist") == "model-1 and model-1, not acmeist"


def test_ordinary_and_short_words_are_not_replaced_everywhere() -> None:
    names = Pseudonyms()
    assert names.learn("vllm", "model") == "model-1"
    assert names.learn("m", "model") == "model-2"
    assert names.replace("vllm m") == "vllm m"
