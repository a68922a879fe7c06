"""Secrets stay hidden however the output arrives."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsandbox.sandbox.secrets import MASK, Masker

# A small alphabet makes overlaps, repetitions and near misses common.
texts = st.text(alphabet="ab-\n", max_size=60)
secrets = st.lists(st.text(alphabet="ab-", min_size=3, max_size=7), min_size=1, max_size=3)


@given(before=texts, secret=st.text(alphabet="ab-", min_size=3, max_size=7), after=texts)
def test_a_secret_is_never_in_the_masked_text(before: str, secret: str, after: str) -> None:
    visible = Masker([secret]).text(before + secret + after).replace(MASK, "\0")
    # "---" is looked for as well: only the mask itself is exempt, not what stands around it.
    assert secret.strip() not in visible


@given(values=secrets, text=texts, cuts=st.lists(st.integers(0, 60), max_size=6))
def test_pieces_give_the_same_as_the_whole(values: list[str], text: str, cuts: list[int]) -> None:
    masker = Masker(values)
    stream = masker.stream()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    assert "".join(stream.feed(piece) for piece in pieces) + stream.end() == masker.text(text)


@given(values=secrets, text=st.text(alphabet="xyz", max_size=60))
def test_text_without_a_secret_is_left_alone(values: list[str], text: str) -> None:
    assert Masker(values).text(text) == text


def test_overlapping_secrets_are_masked_together() -> None:
    assert Masker(["abcd", "cdef"]).text("1 abcdef 2") == f"1 {MASK} 2"


def test_nothing_is_held_back_after_a_whole_line() -> None:
    assert Masker(["hunter2"]).stream().feed("password: hunter2\n") == f"password: {MASK}\n"


def test_a_secret_of_several_lines_is_masked_over_several_events() -> None:
    stream = Masker(["BEGIN\nkey\nEND"]).stream()
    assert stream.feed("x BEGIN\n") + stream.feed("key\n") + stream.feed("END y\n") + stream.end() == f"x {MASK} y\n"


@pytest.mark.parametrize("shown", ["s3cr%20t%26", '"s3cr t&"', "czNjciB0Jg"])
def test_common_encodings_are_masked_too(shown: str) -> None:
    assert MASK in Masker(["s3cr t&"]).text(f"value={shown}")


def test_values_that_are_ordinary_words_are_not_secrets() -> None:
    assert Masker(["1", "true", ""]).text("step 1 is true") == "step 1 is true"


def test_scrub_reaches_every_text_in_plain_data() -> None:
    data = {"a": ["x hunter2", 7], "hunter2": {"b": ("hunter2",)}}
    assert Masker(["hunter2"]).scrub(data) == {"a": [f"x {MASK}", 7], MASK: {"b": (MASK,)}}


def test_each_line_of_a_secret_of_several_lines_is_one() -> None:
    masker = Masker(["-----BEGIN-----\nfirst-of-the-key\r\n  second-of-the-key\nshort\n"])
    assert masker.text("1 first-of-the-key 2\nsecond-of-the-key") == f"1 {MASK} 2\n{MASK}"
    assert masker.text("a short line") == "a short line"
