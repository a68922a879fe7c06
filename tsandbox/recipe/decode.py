"""From parsed TOML or JSON to typed values, with every fault and its path instead of the first one only."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from tsandbox.recipe.near import did_you_mean, near

# Of keys that may be another tool's: "generated_by" is no misspelt "generated_at", but "descripton" is one.
_MISSPELT = 0.85
T = TypeVar("T", bound=msgspec.Struct)
Path = tuple[str | int, ...]


class Fault(NamedTuple):
    """One thing wrong, at a path below the place that was decoded."""

    path: Path
    message: str


def convert(raw: object, kind: type[T], *, open_table: bool = False) -> tuple[T | None, list[Fault]]:
    """`raw` as a `kind`, and everything that is wrong with it.

    Where there are faults, the value holds the parts that could be read, so that those can be checked further; it is
    None where not even that is possible. An open table belongs to others (tsuku's metadata grows): a stray key there
    is left out unless it looks like a misspelling of one that we read.
    """
    faults: list[Fault] = []
    if open_table and isinstance(raw, Mapping):
        raw, faults = _without_strays(raw, kind)
    try:
        return msgspec.convert(raw, kind, strict=True), faults
    except (msgspec.ValidationError, RecursionError):
        faults += _collect(raw, kind, ()) or [Fault((), "cannot be read")]
    return _readable_part(raw, kind, faults), faults


def _readable_part(raw: object, kind: type[T], faults: list[Fault]) -> T | None:
    try:
        return msgspec.convert(_without(raw, [fault.path for fault in faults]), kind, strict=True)
    except (msgspec.ValidationError, RecursionError):
        return None


def _without(raw: object, paths: list[Path]) -> object:
    """`raw` without what stands at the paths; a list with a bad element goes as a whole, as places in it count."""
    if not isinstance(raw, Mapping):
        return raw
    made: dict[Any, Any] = {}
    for key, value in raw.items():
        below = [path[1:] for path in paths if path[:1] == (key,)]
        if not below:
            made[key] = value
        elif isinstance(value, Mapping) and all(below):
            made[key] = _without(value, below)
    return made


def field_names(kind: type[msgspec.Struct]) -> list[str]:
    return list(kind.__struct_encode_fields__)


def path_text(path: Iterable[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _without_strays(raw: Mapping[str, Any], kind: type[msgspec.Struct]) -> tuple[dict[str, Any], list[Fault]]:
    known = field_names(kind)
    strays = [key for key in raw if key not in known]
    misspelt = [key for key in strays if near(str(key), known, _MISSPELT)]
    faults = [Fault((str(key),), f"unknown key{did_you_mean(str(key), known)}") for key in misspelt]
    return {key: value for key, value in raw.items() if key in known}, faults


def _collect(raw: object, kind: type[msgspec.Struct], path: Path) -> list[Fault]:
    if not isinstance(raw, Mapping):
        return [Fault(path, f"expected a table, got {_name(raw)}")]
    fields = msgspec.structs.fields(kind)
    known = [field.encode_name for field in fields]
    faults: list[Fault] = []
    if kind.__struct_config__.forbid_unknown_fields:
        strays = (str(key) for key in raw if key not in known)
        faults += [Fault((*path, key), f"unknown key{did_you_mean(key, known)}") for key in strays]
    for field in fields:
        if field.encode_name not in raw:
            if field.required:
                faults.append(Fault((*path, field.encode_name), "is missing"))
            continue
        faults += _collect_value(raw[field.encode_name], field.type, (*path, field.encode_name))
    return faults


def _collect_value(value: Any, kind: Any, path: Path) -> list[Fault]:
    try:
        msgspec.convert(value, kind, strict=True)
    except RecursionError:
        return [Fault(path, "is nested too deeply")]
    except msgspec.ValidationError as error:
        return _descend(value, kind, path) or [Fault(path, _not_a_choice(value, kind) or _lower(str(error)))]
    return []


def _descend(value: Any, kind: Any, path: Path) -> list[Fault]:
    """Go into lists and tables, so that each bad element is named and not only the first."""
    info = msgspec.inspect.type_info(kind)
    for option in info.types if isinstance(info, msgspec.inspect.UnionType) else (info,):
        if isinstance(option, msgspec.inspect.StructType) and isinstance(value, Mapping):
            return _collect(value, option.cls, path)
        if isinstance(option, msgspec.inspect.ListType | msgspec.inspect.VarTupleType) and isinstance(value, list):
            return _each(enumerate(value), option.item_type, path)
        if isinstance(option, msgspec.inspect.DictType) and isinstance(value, Mapping):
            return _each(value.items(), option.value_type, path)
    return []


def _not_a_choice(value: Any, kind: Any) -> str | None:
    """What can be chosen, where the field takes a few words only and this is another."""
    info = msgspec.inspect.type_info(kind)
    for option in info.types if isinstance(info, msgspec.inspect.UnionType) else (info,):
        if isinstance(option, msgspec.inspect.LiteralType) and isinstance(value, str):
            words = [str(word) for word in option.values if word]
            return f"unknown value {value!r}{did_you_mean(value, words)}"
    return None


def _each(items: Iterable[tuple[Any, Any]], info: msgspec.inspect.Type, path: Path) -> list[Fault]:
    simple = {
        msgspec.inspect.StrType: str,
        msgspec.inspect.IntType: int,
        msgspec.inspect.BoolType: bool,
        msgspec.inspect.DictType: dict,
    }
    kind: Any = info.cls if isinstance(info, msgspec.inspect.StructType) else simple.get(type(info))
    if kind is None:
        return []
    return [fault for key, value in items for fault in _collect_value(value, kind, (*path, key))]


def _lower(message: str) -> str:
    # "Expected `str | null`, got `int` - at `$[0]`": the path is told by us, and people say "text", not `str`.
    text = re.sub(r"`([a-z |]+)`", lambda match: _in_words(match.group(1)), message.split(" - at `$", maxsplit=1)[0])
    return text[:1].lower() + text[1:]


def _in_words(types: str) -> str:
    names = [name for name in types.split(" | ") if name != "null"] or ["null"]
    return " or ".join(_WORDS.get(name, name) for name in names)


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
    "date": "a date",
    "datetime": "a date",
    "time": "a time",
}


def _name(value: object) -> str:
    names = {str: "str", int: "int", float: "float", bool: "bool", list: "array", dict: "object", type(None): "null"}
    return _WORDS.get(names.get(type(value), type(value).__name__), "something else")
