import shutil
import subprocess
from pathlib import Path

import pytest

from tsandbox.runner.libraries import interpreter, scan, system_directories

ENV = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program linked to a library that no system has: lib/libnowhere.so.7."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    root = tmp_path_factory.mktemp("built")
    (root / "lib.c").write_text("int nowhere(void) { return 0; }")
    (root / "main.c").write_text("int nowhere(void); int main(void) { return nowhere(); }")
    library, program = root / "libnowhere.so.7", root / "program"
    subprocess.run([gcc, "-shared", "-Wl,-soname,libnowhere.so.7", "-o", library, root / "lib.c"], check=True)
    subprocess.run([gcc, "-o", program, root / "main.c", library, "-Wl,-rpath,$ORIGIN/../private"], check=True)
    return program


def place(program: Path, root: Path) -> Path:
    (root / "bin").mkdir(parents=True)
    shutil.copy(program, root / "bin/program")
    return root


def test_a_missing_library_is_named_with_who_needs_it(program: Path, tmp_path: Path) -> None:
    [finding] = scan(place(program, tmp_path / "tool"), ENV)
    assert finding.kind == "missing_library"
    assert finding.data == {"library": "libnowhere.so.7", "needed_by": "bin/program"}


def test_libraries_of_the_system_are_not_missing(program: Path, tmp_path: Path) -> None:
    # The program needs libc.so.6 as well, and only the other one is named above.
    names = {finding.data["library"] for finding in scan(place(program, tmp_path / "tool"), ENV)}
    assert "libc.so.6" not in names


def test_a_library_found_by_run_path_or_beside_the_program_is_there(program: Path, tmp_path: Path) -> None:
    for directory in ("private", "lib"):
        root = place(program, tmp_path / directory / "tool")
        (root / directory).mkdir()
        shutil.copy(program.parent / "libnowhere.so.7", root / directory)
        assert scan(root, ENV) == []


def test_a_library_of_a_dependency_or_of_the_library_path_is_there(program: Path, tmp_path: Path) -> None:
    root = place(program, tmp_path / "tool")
    assert scan(root, ENV, libraries=(program.parent,)) == []
    assert scan(root, {**ENV, "LD_LIBRARY_PATH": str(program.parent)}) == []


def test_a_script_without_its_interpreter_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, line in [("a", "#!/usr/bin/env nonesuch"), ("b", "#!/opt/none/perl -w"), ("c", "#!/bin/sh")]:
        (tmp_path / "bin" / name).write_text(f"{line}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    findings = {finding.data["needed_by"]: finding.data["command"] for finding in scan(tmp_path, ENV)}
    assert findings == {"bin/a": "nonesuch", "bin/b": "perl"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("#!/bin/sh", "/bin/sh"),
        ("#! /usr/bin/perl -w", "/usr/bin/perl"),
        ("#!/usr/bin/env python3", "python3"),
        ("#!/usr/bin/env -S node --no-warnings", "node"),
        ("#!/usr/bin/env A=1 ruby", "ruby"),
        ("no script", None),
        ("#!", None),
    ],
)
def test_the_interpreter_of_a_script(tmp_path: Path, line: str, found: str | None) -> None:
    (tmp_path / "x").write_text(f"{line}\n")
    assert interpreter(tmp_path / "x") == found


def test_the_loaders_configuration_is_read_with_its_includes(tmp_path: Path) -> None:
    (tmp_path / "etc/ld.so.conf.d").mkdir(parents=True)
    (tmp_path / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
    (tmp_path / "etc/ld.so.conf.d/a.conf").write_text("# why\n/opt/lib  # and here\n\n")
    (tmp_path / "etc/ld.so.conf.d/loop.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
    assert tmp_path / "opt/lib" in system_directories(tmp_path)


def test_a_dangling_link_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/x").symlink_to("nowhere")
    assert scan(tmp_path, ENV) == []
