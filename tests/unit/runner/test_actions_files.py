import io
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.unit.runner.conftest import Bench


def targz(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            archive.addfile(info, io.BytesIO(content.encode()))
    return buffer.getvalue()


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


PROGRAM = "#!/bin/sh\necho tool 1.0\n"


def test_download_extract_install(bench: Bench) -> None:
    digest = bench.download(targz({"tool-1.0/bin/tool": PROGRAM, "tool-1.0/README": "x"}))
    ran = bench.run(
        {
            "action": "download_file",
            "url": "https://example.com/x",
            "checksum": digest,
            "dest": "tool-{version}.tar.gz",
        },
        {"action": "extract", "archive": "tool-{version}.tar.gz", "format": "tar.gz", "strip_dirs": 1},
        {"action": "chmod", "files": ["bin/tool"]},
        {"action": "install_binaries", "binaries": ["bin/tool"]},
        verify={"command": "tool"},
    )
    assert ran.code == 0
    assert ran.evidence["verify"][0]["stdout"] == "tool 1.0\n"
    assert ran.evidence["binaries"] == {"tool": str(bench.installed / "bin/tool")}
    assert not (bench.installed / "README").exists()


def test_download_names_the_file_by_its_url(bench: Bench) -> None:
    digest = bench.download(b"x")
    ran = bench.run({"action": "download", "url": "https://example.com/dl/a%20b-{version}.bin?x=1", "checksum": digest})
    # The step's own url is the resolved one, and wins.
    assert ran.code == 0
    assert (bench.work / "a b-{version}.bin").read_bytes() == b"x"


def test_a_download_with_another_content_is_refused(bench: Bench) -> None:
    digest = bench.download(b"expected")
    (bench.inputs / "downloads" / digest).write_bytes(b"something else")
    ran = bench.run({"action": "download_file", "url": "https://example.com/f", "checksum": digest})
    assert (ran.code, ran.error["kind"]) == (7, "checksum")
    assert ran.error["data"]["expected"] == digest
    assert not (bench.work / "f").exists()


def test_a_checksum_in_another_algorithm_is_checked_too(bench: Bench) -> None:
    digest = bench.download(b"x")
    step = {"action": "download_file", "line": 3}
    raw = {"tool": "tool", "version": "1.0", "steps": [
        {**step, "checksum": digest, "params": {"url": "https://example.com/f", "checksum": "sha512:00", "dest": "f"}}
    ]}  # fmt: skip
    ran = bench.run(**raw)
    assert ran.error["kind"] == "checksum"
    assert "sha512" in ran.error["message"]


def test_a_download_that_the_host_did_not_fetch_is_named(bench: Bench) -> None:
    ran = bench.run({"action": "download_file", "url": "https://example.com/f", "checksum": "0" * 64})
    assert ran.error["kind"] == "missing_download"
    assert ran.error["data"] == {"checksum": "0" * 64, "url": "https://example.com/f"}


def test_a_download_without_checksum_says_how_to_get_one(bench: Bench) -> None:
    ran = bench.run({"action": "download_file", "url": "https://example.com/f"})
    assert ran.error["kind"] == "missing_download"
    assert "--resolve" in ran.error["message"]


@pytest.mark.parametrize("dest", ["../evil", "/tmp/tsandbox-evil", "a/../../../evil"])
def test_a_download_cannot_leave_the_work_directory(bench: Bench, dest: str) -> None:
    digest = bench.download(b"x")
    ran = bench.run({"action": "download_file", "url": "https://example.com/f", "checksum": digest, "dest": dest})
    assert (ran.code, ran.error["kind"]) == (7, "invalid")
    assert not Path("/tmp/tsandbox-evil").exists()


def test_download_archive_does_it_all(bench: Bench) -> None:
    digest = bench.download(targz({"top/bin/tool": PROGRAM, "top/lib/data": "x"}))
    step = {"action": "download_archive", "url": "https://example.com/t.tar.gz", "checksum": digest, "strip_dirs": 1}
    ran = bench.run({**step, "binaries": ["bin/tool"], "install_mode": "directory"}, verify={"command": "tool"})
    assert ran.evidence["verify"][0]["stdout"] == "tool 1.0\n"
    assert (bench.installed / "lib/data").exists()
    assert not (bench.installed / "t.tar.gz").exists()


def test_github_archive_takes_the_name_from_the_resolved_url(bench: Bench) -> None:
    digest = bench.download(zipped({"deno": PROGRAM}))
    step = {"action": "github_archive", "repo": "a/b", "asset_pattern": "deno-*.zip", "binaries": ["deno"]}
    ran = bench.run({**step, "checksum": digest, "url": "https://example.com/deno-x.zip"}, verify={"command": "deno"})
    assert ran.evidence["verify"][0]["stdout"] == "tool 1.0\n"


def test_github_file_becomes_the_program(bench: Bench) -> None:
    digest = bench.download(PROGRAM.encode())
    step = {"action": "github_file", "repo": "a/b", "asset_pattern": "compose-linux", "binary": "compose"}
    ran = bench.run(
        {**step, "checksum": digest, "url": "https://example.com/x/compose-linux"}, verify={"command": "compose"}
    )
    assert ran.evidence["verify"][0]["stdout"] == "tool 1.0\n"


def test_binaries_may_be_renamed(bench: Bench) -> None:
    bench.file("tool-linux-amd64", PROGRAM)
    pairs = [{"src": "tool-linux-amd64", "dest": "bin/tool"}]
    ran = bench.run({"action": "install_binaries", "binaries": pairs}, verify={"command": "tool"})
    assert ran.evidence["verify"][0]["exit_code"] == 0


def test_directory_mode_takes_the_tree_and_offers_the_programs(bench: Bench) -> None:
    bench.file("zig", PROGRAM, 0o755)
    bench.file("lib/std/a.zig")
    (bench.work / "link").symlink_to("lib/std")
    ran = bench.run(
        {"action": "install_binaries", "binaries": ["zig"], "install_mode": "directory"}, verify={"command": "zig"}
    )
    assert ran.evidence["verify"][0]["exit_code"] == 0
    assert (bench.installed / "link/a.zig").read_text() == "content"
    assert not (bench.installed / ".install").exists()


def test_outputs_that_are_not_there_are_named(bench: Bench) -> None:
    bench.file("lib/a.so")
    step = {"action": "install_binaries", "install_mode": "directory", "outputs": ["lib/a.so", "lib/b.so", "bin/c"]}
    ran = bench.run(step)
    assert ran.error["kind"] == "missing_output"
    assert ran.error["data"] == {"files": ["lib/b.so", "bin/c"]}


def test_a_missing_binary_is_named_with_what_is_there(bench: Bench) -> None:
    bench.file("tool-1.0/bin/tool")
    ran = bench.run({"action": "install_binaries", "binaries": ["bin/tool"]})
    assert ran.error["kind"] == "file_error"
    assert "holds tool-1.0" in ran.error["message"]


@pytest.mark.parametrize("target", ["../../evil", "/etc/evil"])
def test_a_binary_cannot_be_installed_elsewhere(bench: Bench, target: str) -> None:
    bench.file("tool")
    ran = bench.run({"action": "install_binaries", "binaries": [{"src": "tool", "dest": target}]})
    assert ran.error["kind"] == "invalid"


def test_a_link_in_the_work_directory_is_no_way_out(bench: Bench) -> None:
    (bench.work / "passwd").symlink_to("/etc/passwd")
    ran = bench.run({"action": "install_binaries", "binaries": ["passwd"]})
    assert ran.error["kind"] == "invalid"


def test_chmod_sets_the_mode_and_never_more(bench: Bench) -> None:
    bench.file("a")
    assert bench.run({"action": "chmod", "files": ["a"], "mode": "4750"}).code == 0
    assert stat.S_IMODE((bench.work / "a").stat().st_mode) == 0o750


@pytest.mark.parametrize("params", [{"files": ["../x"]}, {"files": ["a"], "mode": "u+x"}, {"files": [1]}])
def test_chmod_refuses_what_it_does_not_understand(bench: Bench, params: dict[str, object]) -> None:
    bench.file("a")
    assert bench.run({"action": "chmod", **params}).error["kind"] == "invalid"


def test_install_libraries_keeps_the_chain_of_links(bench: Bench) -> None:
    bench.file("lib/libz.so.1.3")
    (bench.work / "lib/libz.so.1").symlink_to("libz.so.1.3")
    bench.file("lib/other.txt")
    assert bench.run({"action": "install_libraries", "patterns": ["lib/*.so*"]}).code == 0
    assert sorted(path.name for path in (bench.installed / "lib").iterdir()) == ["libz.so.1", "libz.so.1.3"]
    assert (bench.installed / "lib/libz.so.1").is_symlink()


def test_install_libraries_without_a_match_fails(bench: Bench) -> None:
    assert bench.run({"action": "install_libraries", "patterns": ["lib/*.so*"]}).error["kind"] == "missing_output"


def test_set_env_reaches_the_verification_and_the_users_shell(bench: Bench) -> None:
    variables = [{"name": "TOOL_HOME", "value": "{install_dir}/it's"}]
    ran = bench.run({"action": "set_env", "vars": variables}, verify={"command": 'echo "$TOOL_HOME"'})
    assert ran.evidence["verify"][0]["stdout"] == f"{bench.installed}/it's\n"
    quoted = "'\"'\"'"
    assert (bench.installed / "env.sh").read_text() == f"export TOOL_HOME='{bench.installed}/it{quoted}s'\n"


def test_set_env_refuses_names_that_are_commands(bench: Bench) -> None:
    ran = bench.run({"action": "set_env", "vars": [{"name": "A;rm -rf /", "value": ""}]})
    assert ran.error["kind"] == "invalid"


@pytest.mark.parametrize(
    ("params", "after"),
    [
        ({"pattern": "a.c", "replacement": "X"}, "X abc\n"),
        ({"pattern": "a.c", "replacement": "X", "regex": True}, "X X\n"),
        ({"pattern": "a(.)c", "replacement": "<${1}>", "regex": True}, "<.> <b>\n"),
        ({"pattern": "a.c "}, "abc\n"),
    ],
)
def test_text_replace(bench: Bench, params: dict[str, object], after: str) -> None:
    bench.file("f", "a.c abc\n", 0o750)
    assert bench.run({"action": "text_replace", "file": "f", **params}).code == 0
    assert (bench.work / "f").read_text() == after
    assert stat.S_IMODE((bench.work / "f").stat().st_mode) == 0o750


def test_text_replace_that_matches_nothing_says_so(bench: Bench) -> None:
    bench.file("f", "abc")
    assert "nothing matched" in bench.run({"action": "text_replace", "file": "f", "pattern": "x"}).note


PATCH = "--- a/src/f\n+++ b/src/f\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
@pytest.mark.parametrize("given", ["data", "file"])
def test_apply_patch_file(bench: Bench, given: str) -> None:
    bench.file("src/f", "one\n")
    bench.file("fix.patch", PATCH)
    value = PATCH if given == "data" else "fix.patch"
    assert bench.run({"action": "apply_patch_file", given: value}).code == 0
    assert (bench.work / "src/f").read_text() == "two\n"


def test_a_patch_cannot_reach_files_elsewhere(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("one\n")
    patch = PATCH.replace("a/src/f", "a/../../../victim").replace("b/src/f", "b/../../../victim")
    ran = bench.run({"action": "apply_patch_file", "data": patch})
    assert ran.error["kind"] == "invalid"
    assert (tmp_path / "victim").read_text() == "one\n"


def test_link_dependencies_puts_a_librarys_files_beside_the_tools(bench: Bench) -> None:
    command = "mkdir -p {install_dir}/lib && echo y > {install_dir}/lib/libyaml.so.2"
    library = {
        "tool": "libyaml",
        "version": "0.2",
        "steps": [{"action": "run_command", "params": {"command": command}}],
    }
    ran = bench.run(
        {"action": "link_dependencies", "library": "libyaml"}, dependencies=[library], allow_run_command=True
    )
    assert ran.code == 0
    assert (bench.installed / "lib/libyaml.so.2").read_text() == "y\n"
    assert (bench.installed / "lib/libyaml.so.2").readlink() == Path("../../libyaml-0.2/lib/libyaml.so.2")


def test_link_dependencies_needs_the_dependency(bench: Bench) -> None:
    assert bench.run({"action": "link_dependencies", "library": "libyaml"}).error["kind"] == "missing_output"


def test_set_rpath_needs_patchelf(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    ran = bench.run({"action": "set_rpath", "binaries": ["x"], "rpath": "$ORIGIN"})
    assert ran.error["kind"] == "missing_command"
    assert ran.error["data"] == {"command": "patchelf", "needed_by": "set_rpath"}


def test_set_rpath_passes_the_path_as_one_argument(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "fake/patchelf"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/bin:/usr/bin")
    bench.file("bin/tool")
    ran = bench.run({"action": "set_rpath", "binaries": ["bin/tool"], "rpath": "$ORIGIN/../lib:/x; y"})
    assert ran.of("output")[0]["text"] == f"--set-rpath|$ORIGIN/../lib:/x; y|{bench.work}/bin/tool|"
