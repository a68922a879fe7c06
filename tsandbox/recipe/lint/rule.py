"""What a rule is, and what it looks at."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from tsandbox.recipe.decode import Path
from tsandbox.recipe.model import Recipe

Severity = Literal["error", "warning"]


class Found(NamedTuple):
    """One place where a rule does not hold."""

    path: Path
    message: str


class Subject(Struct, frozen=True, kw_only=True):
    """A recipe under review: as read, and as written where that says more."""

    recipe: Recipe
    raw: Mapping[str, Any]
    # Whether a recipe of this name can be found; None where nobody looked.
    knows: Callable[[str], bool] | None = None


class Rule(Struct, frozen=True, kw_only=True):
    """A rule with its page of the reference: why it exists, what breaks it and what does not."""

    id: str
    title: str
    why: str
    bad: str
    good: str
    check: Callable[[Subject], Iterable[Found]]
    severity: Severity = "warning"
