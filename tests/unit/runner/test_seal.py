"""A key that is taken once, and what is made with it."""

from pathlib import Path

from tsandbox.runner import seal


def test_the_key_is_there_once(tmp_path: Path) -> None:
    key = seal.lay(tmp_path)
    assert seal.take(tmp_path) == key
    assert seal.take(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    assert seal.lay(tmp_path) != key


def test_what_was_sealed_is_opened_and_nothing_else() -> None:
    line = seal.sealed(b'{"a": "b c"}', b"key")
    assert seal.opened(line, b"key") == b'{"a": "b c"}'
    assert seal.opened(line, b"another") is None
    assert seal.opened(line[:-1], b"key") is None
    assert seal.opened(b'{"a": "b c"}', b"key") is None
    assert seal.opened(b"", b"key") is None
