"""How a value enters a Dockerfile: quoted for the shell, or as a JSON array. There is no third way.

Templates can print nothing else: what has not gone through one of these filters is refused (see `only_ready`), so a
forgotten filter is a failing test and not an injection.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from tsandbox.recipe.grammar import env_name

_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
# A line break ends an instruction, and the other controls have no business in a build.
_BREAKS = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"


class Ready(str):
    """Text that may stand in a Dockerfile as it is."""

    __slots__ = ()


def word(text: str) -> Ready:
    """One word for a POSIX shell, and for ENV: builders read its quotes as a shell does, and expand nothing in them."""
    refuse_breaks(text)
    return Ready(text) if _PLAIN.fullmatch(text) else Ready("'" + text.replace("'", "'\"'\"'") + "'")


def words(texts: Iterable[str]) -> Ready:
    """Names for a command, none of which it may take for an option."""
    names = list(texts)
    for text in names:
        if not text or text.startswith("-"):
            raise ValueError(f"{text!r} cannot be a name: a command would take it for an option")
    return Ready(" ".join(map(word, names)))


def json_array(texts: Iterable[str]) -> Ready:
    """The exec form of COPY and RUN. Builders expand variables in it, so a dollar sign is refused."""
    items = list(texts)
    for text in items:
        refuse_breaks(text)
        if "$" in text or "\\" in text:
            raise ValueError(f"{text!r} cannot stand in a Dockerfile's array")
    return Ready(json.dumps(items, ensure_ascii=True))


def name(text: str) -> Ready:
    """The left side of ENV, which no builder lets us quote."""
    if env_name(text):
        raise ValueError(f"{text!r} is not the name of a variable")
    return Ready(text)


def only_ready(value: Any) -> str:
    if isinstance(value, Ready):
        return value
    raise TypeError(f"a template printed {value!r} without quoting it")


FILTERS = {"word": word, "words": words, "json": json_array, "name": name}


def refuse_breaks(text: str) -> None:
    """Also for the lines of configuration files, where a line break would start another setting."""
    if text.isascii() and text.isprintable():
        return
    if re.search(_BREAKS, text):
        raise ValueError(f"{text!r} holds control characters and cannot stand in a Dockerfile")
