import pytest

from tsandbox.runner.versions import at_least, compare


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.9", "1.10"),
        ("1.0", "1.0.1"),
        ("2.0-rc1", "2.0"),
        ("2.0a1", "2.0"),
        ("2.0-rc1", "2.0-rc2"),
        ("1.1.1", "1.1.1w"),
        ("9.2", "9.2p1"),
        ("v1.2", "1.3"),
        ("20.10.24", "28"),
    ],
)
def test_versions_are_ordered_as_people_mean_them(older: str, newer: str) -> None:
    assert compare(older, newer) < 0
    assert compare(newer, older) > 0
    assert at_least(newer, older)
    assert not at_least(older, newer)


@pytest.mark.parametrize(("one", "other"), [("1.0", "1"), ("v1.2", "1.2.0"), ("1.2+build5", "1.2"), ("01.2", "1.02")])
def test_different_spellings_of_a_version_are_equal(one: str, other: str) -> None:
    assert compare(one, other) == 0
