import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tsandbox.runner.elf import read_elf


def elf64(*, interpreter: bytes = b"/lib64/ld-linux-x86-64.so.2", dynamic: list[tuple[int, bytes]]) -> bytes:
    """A program with just the tables that say what it needs; `dynamic` holds tags and strings."""
    strings, entries = b"\0", []
    for tag, text in dynamic:
        entries.append((tag, len(strings)))
        strings += text + b"\0"
    headers = 64 + 3 * 56
    at_strings = headers + len(interpreter) + 1
    at_dynamic = at_strings + len(strings)
    table = b"".join(struct.pack("<qQ", *entry) for entry in [*entries, (5, at_strings), (0, 0)])
    total = at_dynamic + len(table)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 3) + bytes(6)
    segments = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, size, size, 1)
        for kind, offset, size in [
            (1, 0, total),
            (3, headers, len(interpreter) + 1),
            (2, at_dynamic, len(table)),
        ]
    )
    return header + segments + interpreter + b"\0" + strings + table


def test_reads_what_a_program_needs(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(elf64(dynamic=[(1, b"libssl.so.3"), (1, b"libc.so.6"), (29, b"$ORIGIN/../lib:/opt/lib")]))
    elf = read_elf(path)
    assert elf is not None
    assert elf.needed == ("libssl.so.3", "libc.so.6")
    assert elf.interpreter == "/lib64/ld-linux-x86-64.so.2"
    assert elf.run_path == ("$ORIGIN/../lib", "/opt/lib")
    assert (elf.bits, elf.machine) == (64, 62)


def test_agrees_with_the_linker_about_a_real_program() -> None:
    real = Path(sys.executable).resolve()
    try:
        said = subprocess.run(["readelf", "-d", real], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("needs readelf")
    needed = tuple(line.split("[")[1].rstrip("]") for line in said.splitlines() if "(NEEDED)" in line)
    elf = read_elf(real)
    assert elf is not None
    assert elf.needed == needed


WHOLE = elf64(dynamic=[(1, b"libssl.so.3")])


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x09\x09" + bytes(100)])
def test_what_is_no_elf_file_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert read_elf(tmp_path / "x") is None


@pytest.mark.parametrize("cut", range(16, len(WHOLE), 7))
def test_a_cut_off_file_is_survived(tmp_path: Path, cut: int) -> None:
    (tmp_path / "x").write_bytes(WHOLE[:cut])
    elf = read_elf(tmp_path / "x")
    assert elf is None or set(elf.needed) <= {"libssl.so.3"}


def test_offsets_that_lead_nowhere_are_survived(tmp_path: Path) -> None:
    broken = bytearray(WHOLE)
    broken[32:40] = struct.pack("<Q", 1 << 62)
    (tmp_path / "x").write_bytes(broken)
    assert read_elf(tmp_path / "x") is None


def test_a_directory_is_none(tmp_path: Path) -> None:
    assert read_elf(tmp_path) is None
