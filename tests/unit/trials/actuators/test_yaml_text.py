"""What is written as YAML is read back as it was, by a parser that is not ours."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from whystall.trials.actuators.yaml_text import yaml_text

SCALARS = st.one_of(
    st.text(
        st.characters(
            codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"
        )
    ),
    st.integers(),
    st.booleans(),
    st.none(),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc -:#1", min_size=1), inner, max_size=4),
)


@given(st.dictionaries(st.text("abcXYZ_-. /:#19", min_size=1), DATA, max_size=5))
def test_reads_back(data: dict) -> None:
    assert (yaml.safe_load(yaml_text(data)) or {}) == data
