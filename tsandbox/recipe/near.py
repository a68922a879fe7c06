"""What a misspelt word was probably meant to be."""

from collections.abc import Iterable


def near(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    from difflib import get_close_matches

    # A long stray word costs quadratic time and is near to nothing anyway.
    matches = get_close_matches(word, list(known), n=1, cutoff=cutoff) if len(word) <= 64 else []
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the near word, or the short list of known ones."""
    names = list(known)
    if found := near(word, names):
        return f" (did you mean {found!r}?)"
    return f" (one of: {', '.join(names)})" if 0 < len(names) <= 16 else ""
