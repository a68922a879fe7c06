"""Rewriting a recipe whose `require_system` steps have install guides."""

import tomllib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tsandbox.errors import InvalidInput, Problem
from tsandbox.printable import one_line
from tsandbox.recipe.lines import Lines, Statement, statements
from tsandbox.recipe.load import load_recipe, parse_toml
from tsandbox.recipe.migrate.guide import normal_keys, read_platforms
from tsandbox.recipe.migrate.layout import Span, apply, assignments, whole_lines, without_gaps
from tsandbox.recipe.migrate.steps import NewStep, new_steps
from tsandbox.recipe.when import When, parse_when

_NOT_COPIED = ("when", "params", "install_guide", "packages", "primitives")
_GPU = ("gpu",)


class Kept(Struct, frozen=True, kw_only=True):
    """A text that a person still has to read: kept as `manual`, or dropped because its platform is ruled out."""

    line: int | None
    platform: str
    text: str
    dropped: bool = False


class Migration(Struct, frozen=True, kw_only=True):
    file: str
    before: str
    after: str
    kept: tuple[Kept, ...] = ()

    @property
    def changed(self) -> bool:
        return self.before != self.after


def migrate(text: str, file: str = "-") -> Migration:
    """The recipe with structured steps in the place of its install guides; it loads, or this raises."""
    raw = parse_toml(text, file)
    guides = [i for i, step in enumerate(_steps(raw)) if _guide(step) is not None]
    if not guides:
        return Migration(file=file, before=text, after=text)
    _refuse_other_faults(text, file, guides)
    whole = text if text.endswith("\n") else text + "\n"
    edit = _Edit(whole, file)
    for i in guides:
        edit.step(i, raw["steps"][i])
    after = apply(whole, without_gaps(whole, edit.removals), edit.insertions)
    _refuse_damage(raw, after, file, guides)
    load_recipe(after, file)
    return Migration(file=file, before=text, after=after, kept=tuple(edit.kept))


class _Edit:
    """The changes to one text, collected over its steps; nothing is changed before all are known."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.statements = statements(text)
        self.lines = Lines(text)
        self.removals: list[Span] = []
        self.insertions: list[tuple[int, str]] = []
        self.kept: list[Kept] = []

    def step(self, i: int, raw: Mapping[str, Any]) -> None:
        own = [each for each in self.statements if each.path[:2] == ("steps", i)]
        header = next((each for each in own if each.is_header and each.path == ("steps", i)), None)
        if header is None:
            raise _unclear(self.file, i, self.lines, "is not a [[steps]] table: write it as one, then migrate")
        replaced = [each for each in own if _is_replaced(each, raw)]
        self.removals += [whole_lines(self.text, each) for each in replaced]
        made = self._new_steps(i, raw)
        first, others = made[0], made[1:]
        direct = [each for each in own if not each.is_header and len(each.path) == 3 and each not in replaced]
        before_tables = [each for each in direct if each.start < _first_table(own)]
        rest = _other_params(raw) if any(_is_inline_params(each) for each in replaced) else {}
        self._insert((before_tables or [header])[-1], self._text(assignments(rest | _keys_of(first))))
        if others:
            self._insert(own[-1], "".join(self._another(raw, step) for step in others))

    def _new_steps(self, i: int, raw: Mapping[str, Any]) -> list[NewStep]:
        when, _ = parse_when(raw.get("when", {}))
        read = read_platforms(normal_keys(_guide(raw)), _without_gpu(when))
        line = self.lines.of("steps", i, *(() if "install_guide" in raw else ("params",)), "install_guide")
        self.kept += [Kept(line=line, platform=each.key, text=each.text) for each in read.unread]
        self.kept += [Kept(line=line, platform=each.key, text=each.text, dropped=True) for each in read.unreachable]
        if _is_structured(raw) or not read.outcomes:
            # What is structured already stays; the guide beside it only repeated it for people.
            return [NewStep(content={}, when=dict(raw.get("when", {})))]
        written = raw.get("when", {})
        return new_steps(read.outcomes, {key: written[key] for key in _GPU if key in written})

    def _insert(self, after: Statement, text: str) -> None:
        _, end = whole_lines(self.text, after)
        if text:
            self.insertions.append((end, text))

    def _another(self, raw: Mapping[str, Any], step: NewStep) -> str:
        params = {key: value for key, value in raw.items() if key not in _NOT_COPIED}
        return self.newline + self._text(["[[steps]]", *assignments(params | _other_params(raw) | _keys_of(step))])

    def _text(self, lines: list[str]) -> str:
        return "".join(line + self.newline for line in lines)


def _keys_of(step: NewStep) -> dict[str, Any]:
    return step.content | ({"when": step.when} if step.when else {})


def _first_table(own: list[Statement]) -> int:
    """Where the step's first table of its own begins: its plain keys have to stand before that."""
    inner = [each.start for each in own if each.is_header and len(each.path) > 2]
    return min(inner, default=own[-1].end + 1)


def _is_replaced(statement: Statement, raw: Mapping[str, Any]) -> bool:
    inside = statement.path[2:]
    if _is_inline_params(statement):
        return "install_guide" in raw["params"]
    return inside[:1] in (("install_guide",), ("when",)) or inside[:2] == ("params", "install_guide")


def _is_inline_params(statement: Statement) -> bool:
    """`params = { … }` is one statement: where the guide stands in it, the whole is written anew."""
    return not statement.is_header and statement.path[2:] == ("params",)


def _other_params(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.get("params", {}).items() if key not in _NOT_COPIED}


def _is_structured(raw: Mapping[str, Any]) -> bool:
    params = raw.get("params", {})
    return any(key in raw or key in params for key in ("packages", "primitives"))


def _without_gpu(when: When) -> When:
    return When(**{key: getattr(when, key) for key in When.__struct_fields__ if key not in _GPU})


def _guide(step: Mapping[str, Any]) -> Any:
    if step.get("action") != "require_system":
        return None
    params = step.get("params")
    return step.get("install_guide", params.get("install_guide") if isinstance(params, Mapping) else None)


def _steps(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    steps = raw.get("steps", [])
    return steps if isinstance(steps, list) and all(isinstance(step, Mapping) for step in steps) else []


def _refuse_other_faults(text: str, file: str, guides: list[int]) -> None:
    """What is wrong beside the guides is told before anything moves, with the lines that the author knows."""
    try:
        load_recipe(text, file)
    except InvalidInput as error:
        steps = {f"steps[{i}]" for i in guides}
        others = [each for each in error.problems if each.path not in steps and not each.path.endswith("install_guide")]
        if others:
            raise InvalidInput(str(others[0]), problems=others) from None


def _refuse_damage(raw: Mapping[str, Any], after: str, file: str, guides: list[int]) -> None:
    """The last guard of an edit made on text: everything that was not to change must read as before."""
    try:
        made = tomllib.loads(after)
    except ValueError as error:
        raise _unclear(file, guides[0], None, f"has a layout that cannot be edited safely ({error})") from None
    untouched = [step for i, step in enumerate(_steps(raw)) if i not in guides]
    survived = [step for step in _steps(made) if step in untouched]
    rest = {key: value for key, value in raw.items() if key != "steps"}
    if rest != {key: value for key, value in made.items() if key != "steps"} or len(survived) < len(untouched):
        raise _unclear(file, guides[0], None, "has a layout that cannot be edited safely")


def _unclear(file: str, i: int, lines: Lines | None, why: str) -> InvalidInput:
    line = lines.of("steps", i) if lines else None
    problem = Problem(file, line, f"steps[{i}]", one_line(why))
    return InvalidInput(str(problem), problems=[problem], hint="write the step by hand: docs/how-to/migrate.md")
