"""What a failed program's output says is missing, in the words of the tools that say it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tsandbox.runner.failures import Finding

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+@-]*"
_QUOTE = "['\"‘’`]?"


class _Sign(NamedTuple):
    kind: str
    key: str
    # Compiled on first use: most runs fail in nothing, and all of them would wait for it.
    pattern: str
    template: str = "{}"


_SIGNS = (
    # the dynamic loader, of glibc and of musl
    _Sign("missing_library", "library", r"error while loading shared libraries: ([^\s:]+): cannot open"),
    _Sign("missing_library", "library", r"Error loading shared library ([^\s:]+): No such file"),
    # dlopen, as Python, Ruby and node report it
    _Sign("missing_library", "library", rf"({_NAME}\.so[0-9.]*): cannot open shared object file"),
    _Sign("missing_library", "library", r"cannot find -l([A-Za-z0-9_+.-]+)", "lib{}.so"),
    # a compiler without the C library's development files
    _Sign("missing_library", "library", r"cannot find (S?crt1)\.o", "libc.so"),
    _Sign("missing_library", "library", r"configure: error: (C\+*) compiler cannot create executables", "libc.so"),
    # shells: dash and busybox, bash, env, make
    _Sign("missing_command", "command", rf"^(?:/\S+/)?\S*sh: (?:\d+: |line \d+: )?({_NAME}): not found$"),
    _Sign("missing_command", "command", rf"({_NAME}): command not found$"),
    _Sign("missing_command", "command", rf"^(?:\S*/)?env: (?:can't execute )?{_QUOTE}({_NAME}){_QUOTE}: No such file"),
    _Sign("missing_command", "command", rf"^[^:\n]+: (?:line )?\d+: ({_NAME}): not found$"),
    _Sign("missing_command", "command", rf"^g?make(?:\[\d+\])?: ({_NAME}): No such file or directory$"),
    # runtimes that start other programs: Go, Node, Python
    _Sign("missing_command", "command", rf'exec: "({_NAME})": executable file not found'),
    _Sign("missing_command", "command", rf"spawn ({_NAME}) ENOENT"),
    _Sign("missing_command", "command", rf"FileNotFoundError: \[Errno 2\] No such file or directory: '({_NAME})'$"),
    # configure, CMake, meson
    _Sign("missing_command", "command", r"configure: error: no acceptable (C) compiler found", "gcc"),
    _Sign("missing_command", "command", r"No (CMAKE_C)_COMPILER could be found", "gcc"),
    _Sign("missing_command", "command", r"No (CMAKE_CXX)_COMPILER could be found", "g++"),
    _Sign("missing_command", "command", r'unable to find a build program corresponding to "(Unix) Makefiles"', "make"),
    _Sign("missing_command", "command", r'unable to find a build program corresponding to "(Ninja)"', "ninja"),
    _Sign("missing_command", "command", r"ERROR: Could not detect (Ninja) v", "ninja"),
    _Sign("missing_command", "command", r"ERROR: Unknown (compiler)\(s\):", "gcc"),
    # compilers, pkg-config, Perl
    _Sign("missing_header", "header", r"fatal error: ([^\s:]+\.(?:h|hh|hpp|hxx)): No such file or directory"),
    _Sign("missing_pkgconfig", "pkgconfig", rf"No package '({_NAME})' found", "{}.pc"),
    _Sign("missing_pkgconfig", "pkgconfig", rf"Package ({_NAME}) was not found in the pkg-config", "{}.pc"),
    _Sign("missing_pkgconfig", "pkgconfig", rf"Package '({_NAME})', required by '[^']+', not found", "{}.pc"),
    _Sign("missing_cmake_package", "cmake", r"^CMake Error at [^\n]*\n\s*Could NOT find ([A-Za-z0-9_+-]+)"),
    _Sign("missing_cmake_package", "cmake", r'package configuration file provided by "([A-Za-z0-9_+-]+)"'),
    _Sign("missing_python_module", "module", r"^ModuleNotFoundError: No module named '([A-Za-z0-9_]+)[.']"),
    _Sign("missing_perl_module", "file", r"Can't locate ([A-Za-z0-9_/]+\.pm) in @INC"),
)  # fmt: skip


def diagnose(output: str, *, needed_by: str) -> list[Finding]:
    """Everything that `output` calls missing, each thing once, in the order of the signs."""
    return list({(each.kind, str(each.data)): each for each in _found(output, needed_by)}.values())


def missing_command(command: str, *, needed_by: str) -> Finding:
    return Finding(
        "missing_command",
        f"{needed_by} needs the command {command}, which is not there",
        {"command": command, "needed_by": needed_by},
    )


def missing_library(library: str, *, needed_by: str) -> Finding:
    return Finding(
        "missing_library",
        f"{needed_by} needs the library {library}, which is not there",
        {"library": library, "needed_by": needed_by},
    )


def _found(output: str, needed_by: str) -> Iterator[Finding]:
    for sign in _SIGNS:
        for match in re.finditer(sign.pattern, output, re.MULTILINE):
            name = sign.template.format(match.group(1))
            what = sign.kind.removeprefix("missing_").replace("_", " ").replace("pkgconfig", "pkg-config file")
            message = f"{needed_by} needs the {what} {name}, which is not there"
            yield Finding(sign.kind, message, {sign.key: name, "needed_by": needed_by})
