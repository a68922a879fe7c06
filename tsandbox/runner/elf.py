"""Just enough of the ELF format to say what a program needs: its interpreter, libraries and search path."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_MAGIC = b"\x7fELF"
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29
# More than any real table; a hostile header must not make us read the whole disk.
_MAX_TABLE = 1 << 20
_MAX_HEADERS = 256


@dataclass(frozen=True, kw_only=True)
class Elf:
    machine: int
    bits: int
    interpreter: str | None
    needed: tuple[str, ...]
    # DT_RUNPATH or DT_RPATH, split; `$ORIGIN` is still in it.
    run_path: tuple[str, ...]


@dataclass(frozen=True)
class _Layout:
    """The structures of one class and byte order; in the first, only the fields up to e_phnum."""

    header: struct.Struct
    segment: struct.Struct
    # Where p_offset, p_vaddr and p_filesz stand in a segment.
    places: tuple[int, int, int]
    dynamic: struct.Struct


@dataclass(frozen=True)
class _Segment:
    type: int
    offset: int
    address: int
    size: int


def read_elf(path: Path) -> Elf | None:
    """What `path` needs, or None if it is no ELF file (or a broken one: the loader would refuse that too)."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, struct.error, ValueError, IndexError, OverflowError):
        return None


def _read(file: BinaryIO) -> Elf | None:
    ident = file.read(16)
    if ident[:4] != _MAGIC or ident[4] not in (1, 2) or ident[5] not in (1, 2):
        return None
    layout = _layout(wide=ident[4] == 2, order="<" if ident[5] == 1 else ">")
    # e_type e_machine e_version e_entry e_phoff e_shoff e_flags e_ehsize e_phentsize e_phnum
    fields = layout.header.unpack(file.read(layout.header.size))
    segments = list(_segments(file, layout, offset=fields[4], size=fields[8], count=fields[9]))
    entries = list(_dynamic(file, layout, segments))
    strings = _string_table(file, entries, segments)
    paths = _strings(strings, entries, _DT_RUNPATH) or _strings(strings, entries, _DT_RPATH)
    return Elf(
        machine=fields[1],
        bits=32 * ident[4],
        interpreter=_interpreter(file, segments),
        needed=_strings(strings, entries, _DT_NEEDED),
        run_path=tuple(part for path in paths for part in path.split(":") if part),
    )


def _layout(*, wide: bool, order: str) -> _Layout:
    header, segment, dynamic = ("HHIQQQIHHH", "IIQQQQQQ", "qQ") if wide else ("HHIIIIIHHH", "IIIIIIII", "iI")
    return _Layout(
        struct.Struct(order + header),
        struct.Struct(order + segment),
        (2, 3, 5) if wide else (1, 2, 4),
        struct.Struct(order + dynamic),
    )


def _segments(file: BinaryIO, layout: _Layout, *, offset: int, size: int, count: int) -> Iterator[_Segment]:
    for index in range(min(count, _MAX_HEADERS)):
        file.seek(offset + index * size)
        fields = layout.segment.unpack(file.read(layout.segment.size))
        yield _Segment(fields[0], *(fields[place] for place in layout.places))


def _dynamic(file: BinaryIO, layout: _Layout, segments: list[_Segment]) -> Iterator[tuple[int, int]]:
    segment = _first(segments, _PT_DYNAMIC)
    if segment is None:
        return
    file.seek(segment.offset)
    table = file.read(min(segment.size, _MAX_TABLE))
    entry = layout.dynamic
    for tag, value in entry.iter_unpack(table[: len(table) - len(table) % entry.size]):
        if tag == 0:
            return
        yield tag, value


def _string_table(file: BinaryIO, entries: list[tuple[int, int]], segments: list[_Segment]) -> bytes:
    address = next((value for tag, value in entries if tag == _DT_STRTAB), -1)
    for segment in segments:
        end = segment.address + segment.size
        if segment.type == _PT_LOAD and segment.address <= address < end:
            file.seek(segment.offset + address - segment.address)
            return file.read(min(end - address, _MAX_TABLE))
    return b""


def _strings(table: bytes, entries: list[tuple[int, int]], wanted: int) -> tuple[str, ...]:
    found = (_string(table, value) for tag, value in entries if tag == wanted)
    return tuple(text for text in found if text)


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    return table[offset:end].decode(errors="replace") if 0 <= offset < end else ""


def _interpreter(file: BinaryIO, segments: list[_Segment]) -> str | None:
    segment = _first(segments, _PT_INTERP)
    if segment is None:
        return None
    file.seek(segment.offset)
    return file.read(min(segment.size, 4096)).rstrip(b"\0").decode(errors="replace")


def _first(segments: list[_Segment], kind: int) -> _Segment | None:
    return next((each for each in segments if each.type == kind), None)
