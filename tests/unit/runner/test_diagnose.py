import pytest

from tsandbox.runner.diagnose import diagnose

SAID = {
    "dash": ("sh: 1: git: not found", "missing_command", "git"),
    "busybox": ("/bin/sh: git: not found", "missing_command", "git"),
    "bash": ("bash: line 1: git: command not found", "missing_command", "git"),
    "script": ("./configure: 12: perl: not found", "missing_command", "perl"),
    "env": ("/usr/bin/env: ‘python3’: No such file or directory", "missing_command", "python3"),
    "busybox env": ("env: can't execute 'node': No such file or directory", "missing_command", "node"),
    "make": ("make: cc: No such file or directory", "missing_command", "cc"),
    "sub-make": ("make[2]: g++: No such file or directory", "missing_command", "g++"),
    "go": ('exec: "git": executable file not found in $PATH', "missing_command", "git"),
    "node": ("Error: spawn git ENOENT", "missing_command", "git"),
    "python": ("FileNotFoundError: [Errno 2] No such file or directory: 'git'", "missing_command", "git"),
    "configure": ("configure: error: no acceptable C compiler found in $PATH", "missing_command", "gcc"),
    "cmake": ("  No CMAKE_CXX_COMPILER could be found.", "missing_command", "g++"),
    "cmake make": (
        'CMake was unable to find a build program corresponding to "Unix Makefiles".',
        "missing_command",
        "make",
    ),
    "loader": (
        "x: error while loading shared libraries: libssl.so.3: cannot open shared object file: No such file",
        "missing_library",
        "libssl.so.3",
    ),
    "musl loader": (
        "Error loading shared library libz.so.1: No such file or directory (needed by x)",
        "missing_library",
        "libz.so.1",
    ),
    "dlopen": (
        "OSError: libgomp.so.1: cannot open shared object file: No such file or directory",
        "missing_library",
        "libgomp.so.1",
    ),
    "linker": ("/usr/bin/ld: cannot find -lz: No such file or directory", "missing_library", "libz.so"),
    "start files": ("/usr/bin/ld: cannot find Scrt1.o: No such file or directory", "missing_library", "libc.so"),
    "configure and no libc": (
        "configure: error: C compiler cannot create executables",
        "missing_library",
        "libc.so",
    ),
    "header": ("a.c:1:10: fatal error: openssl/ssl.h: No such file or directory", "missing_header", "openssl/ssl.h"),
    "pkg-config": ("No package 'libcurl' found", "missing_pkgconfig", "libcurl.pc"),
    "pkgconf": ("Package libcurl was not found in the pkg-config search path.", "missing_pkgconfig", "libcurl.pc"),
    "cmake module": (
        "CMake Error at FindZLIB.cmake:230 (message):\n  Could NOT find ZLIB (missing: ZLIB_LIBRARY)",
        "missing_cmake_package",
        "ZLIB",
    ),
    "cmake config": (
        '  Could not find a package configuration file provided by "fmt" with any of\n  the following names:',
        "missing_cmake_package",
        "fmt",
    ),
    "python module": ("ModuleNotFoundError: No module named 'yaml'", "missing_python_module", "yaml"),
    "python submodule": ("ModuleNotFoundError: No module named 'yaml.nodes'", "missing_python_module", "yaml"),
    "perl": ("Can't locate JSON/XS.pm in @INC (you may need to", "missing_perl_module", "JSON/XS.pm"),
}


@pytest.mark.parametrize(("text", "kind", "name"), SAID.values(), ids=SAID.keys())
def test_what_is_missing_is_understood(text: str, kind: str, name: str) -> None:
    [finding] = diagnose(f"some line\n{text}\nanother line\n", needed_by="tool")
    assert finding.kind == kind
    assert name in finding.data.values()
    assert finding.data["needed_by"] == "tool"
    assert name in finding.message


def test_each_missing_thing_is_told_once() -> None:
    text = "sh: 1: git: not found\nsh: 1: git: not found\nsh: 1: make: not found\n"
    assert [finding.data["command"] for finding in diagnose(text, needed_by="x")] == ["git", "make"]


@pytest.mark.parametrize("text", ["", "error: page not found", "404: not found", "file.txt: No such file or directory"])
def test_other_things_that_are_not_found_are_not_commands(text: str) -> None:
    assert diagnose(text, needed_by="x") == []
