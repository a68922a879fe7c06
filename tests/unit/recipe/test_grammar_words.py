"""The short way of the grammar takes nothing that the long way would refuse."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsandbox.recipe import grammar
from tsandbox.recipe.actions.packages import InstallPackages

SHORT = [each for each in vars(grammar).values() if isinstance(each, grammar.Matching) and each.takes_words]
SHORT += [kind.checks["packages"] for kind in InstallPackages.__subclasses__()]


@pytest.mark.parametrize("check", SHORT, ids=lambda check: check.what[:30])
@given(st.text(st.sampled_from("abz019-AZ._+@:/ \n\u0661\u00df"), max_size=12))
def test_a_word_matches_the_pattern(check: grammar.Matching, text: str) -> None:
    if grammar.is_word(text):
        assert re.fullmatch(check.pattern, text)
    assert (check(text) is None) == bool(re.fullmatch(check.pattern, text))


def test_words() -> None:
    assert all(map(grammar.is_word, ("jq", "build-essential", "x11-apps", "7zip")))
    assert not any(map(grammar.is_word, ("", "-", "-o", "jq-", "Jq", "a b", "a_b", "a\n", "\u0661a", "a;b")))
