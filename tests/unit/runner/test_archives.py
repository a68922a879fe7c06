"""Archives that try to get out of their directory, in both formats, and honest ones that must not suffer for it."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tsandbox.runner import zstd
from tsandbox.runner.archive import Limits
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.formats import extract

Member = tuple[str, str, str]  # kind, name, content or target


def tar(path: Path, members: list[Member], mode: str = "w:gz") -> Path:
    kinds = {
        "file": tarfile.REGTYPE,
        "dir": tarfile.DIRTYPE,
        "symlink": tarfile.SYMTYPE,
        "hardlink": tarfile.LNKTYPE,
        "device": tarfile.CHRTYPE,
        "fifo": tarfile.FIFOTYPE,
    }
    with tarfile.open(path, mode) as archive:
        for kind, name, content in members:
            info = tarfile.TarInfo(name)
            info.type = kinds[kind]
            info.mode = 0o4755
            info.mtime = 1_000_000_000
            if kind == "file":
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content.encode()))
            else:
                info.linkname = content
                archive.addfile(info)
    return path


def zipped(path: Path, members: list[Member]) -> Path:
    kinds = {
        "file": stat.S_IFREG,
        "dir": stat.S_IFDIR,
        "symlink": stat.S_IFLNK,
        "device": stat.S_IFCHR,
        "fifo": stat.S_IFIFO,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, name, content in members:
            info = zipfile.ZipInfo(name + ("/" if kind == "dir" else ""), (2001, 9, 9, 0, 0, 0))
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (kinds[kind] | 0o755) << 16
            archive.writestr(info, content)
    return path


def unpack(archive: Path, *, strip: int = 0, limits: Limits | None = None, declared: str | None = None) -> Path:
    into = archive.parent / "into"
    extract(archive, into, strip=strip, limits=limits, declared=declared, find=shutil.which)
    return into


Make = Callable[[list[Member]], Path]


@pytest.fixture(params=["tar.gz", "zip"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    return maker(request.param, tmp_path)


def maker(ending: str, directory: Path) -> Make:
    build = zipped if ending == "zip" else tar
    return lambda members: build(directory / f"x.{ending}", members)


HOSTILE = {
    "absolute path": [("file", "/tmp/tsandbox-evil", "x")],
    "parent": [("file", "../evil", "x")],
    "parent inside": [("file", "a/../../evil", "x")],
    "symlink with absolute target": [("symlink", "link", "/etc")],
    "symlink to the parent": [("symlink", "link", "../outside")],
    "write through a symlink": [("symlink", "link", "dir"), ("dir", "dir", ""), ("file", "link/evil", "x")],
    "directory through a symlink": [("symlink", "link", "."), ("dir", "link/evil", "")],
    "symlinks that lead out only together": [
        ("dir", "d1/d2", ""),
        ("symlink", "d1/d2/up", "../.."),
        ("symlink", "d1/d2/out", "up/../.."),
    ],
    "hard link to the outside": [("hardlink", "link", "../../etc/passwd")],
    "hard link with absolute target": [("hardlink", "link", "/etc/passwd")],
    "hard link to a symlink": [("symlink", "s", "missing"), ("hardlink", "h", "s")],
    "hard link to nothing": [("hardlink", "h", "nothing")],
    "deep tree": [("file", "d/" * 500 + "f", "x")],
    "long name": [("file", "x" * 300, "x")],
    "device": [("device", "null", "")],
    "named pipe": [("fifo", "pipe", "")],
    "file over a directory": [("dir", "d", ""), ("file", "d", "x")],
    "link over a directory": [("dir", "d", ""), ("symlink", "d", "elsewhere")],
}


# Zip has no hard links.
CASES = [
    pytest.param(ending, members, id=f"{ending}: {name}")
    for name, members in HOSTILE.items()
    for ending in ("tar.gz", "zip")
    if ending == "tar.gz" or "hard link" not in name
]


@pytest.mark.parametrize(("ending", "members"), CASES)
def test_a_hostile_member_is_refused_and_named(ending: str, members: list[Member], tmp_path: Path) -> None:
    archive = maker(ending, tmp_path)(members)
    with pytest.raises(StepFailed) as caught:
        unpack(archive)
    assert caught.value.finding.kind == "unsafe_archive"
    assert str(caught.value.finding.data["member"]).rstrip("/") in {name for _, name, _ in members}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["into", archive.name]
    assert not Path("/tmp/tsandbox-evil").exists()


def test_a_link_that_was_there_before_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "into/.install").symlink_to(outside)
    with pytest.raises(StepFailed, match="no directory"):
        unpack(tar(tmp_path / "x.tar.gz", [("file", ".install/evil", "x")]))
    assert list(outside.iterdir()) == []


def test_stripping_does_not_hide_what_a_name_is(make: Make) -> None:
    with pytest.raises(StepFailed, match=r"'\.\.'"):
        unpack(make([("file", "top/../../evil", "x")]), strip=1)


def test_an_honest_archive_keeps_its_content_links_and_times(make: Make) -> None:
    into = unpack(
        make(
            [
                ("dir", "top", ""),
                ("dir", "top/bin", ""),
                ("file", "top/bin/tool", "#!/bin/sh\n"),
                ("symlink", "top/lib", "bin"),
                ("symlink", "top/bin/again", "../bin/tool"),
                ("file", "top/bin/tool2", "later"),
            ]
        ),
        strip=1,
    )
    assert (into / "bin/tool").read_text() == "#!/bin/sh\n"
    assert (into / "lib/again").read_text() == "#!/bin/sh\n"
    assert os.access(into / "bin/tool", os.X_OK)
    assert not (into / "bin/tool").stat().st_mode & stat.S_ISUID
    assert abs((into / "bin/tool").stat().st_mtime - 1_000_000_000) < 100_000


def test_a_hard_link_inside_of_the_archive_works(tmp_path: Path) -> None:
    into = unpack(tar(tmp_path / "x.tar.gz", [("file", "t/a", "same"), ("hardlink", "t/b", "t/a")]), strip=1)
    assert (into / "b").read_text() == "same"


def test_a_member_may_replace_a_file_of_an_earlier_archive(tmp_path: Path) -> None:
    unpack(tar(tmp_path / "one.tar.gz", [("file", "a", "one"), ("symlink", "s", "a")]))
    into = unpack(tar(tmp_path / "two.tar.gz", [("file", "s", "two")]))
    assert ((into / "a").read_text(), (into / "s").read_text()) == ("one", "two")


def test_stripping_all_of_a_name_leaves_the_member_out(make: Make) -> None:
    into = unpack(make([("file", "README", "x"), ("file", "top/a", "x")]), strip=1)
    assert [path.name for path in into.iterdir()] == ["a"]


BOMBS = {
    "size": Limits(size=1000),
    "ratio": Limits(small=1000, ratio=10),
}


@pytest.mark.parametrize("limits", BOMBS.values(), ids=BOMBS.keys())
def test_an_archive_that_grows_too_much_is_refused(make: Make, limits: Limits) -> None:
    with pytest.raises(StepFailed, match="bomb") as caught:
        unpack(make([("file", "zeros", "0" * 1_000_000)]), limits=limits)
    assert caught.value.finding.kind == "unsafe_archive"


def test_an_archive_with_too_many_entries_is_refused(make: Make) -> None:
    with pytest.raises(StepFailed, match="bomb"):
        unpack(make([("file", f"f{number}", "") for number in range(20)]), limits=Limits(entries=10))


def test_a_sparse_file_counts_with_its_full_size(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 50_000_000)
    subprocess.run(["tar", "-C", tmp_path, "-cSf", tmp_path / "x.tar", "sparse"], check=True)
    assert (tmp_path / "x.tar").stat().st_size < 100_000
    with pytest.raises(StepFailed, match="bomb"):
        unpack(tmp_path / "x.tar", limits=Limits(size=10_000_000))


def test_a_huge_header_does_not_fill_the_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    info.size = 1 << 40
    with gzip.open(tmp_path / "x.tar.gz", "wb") as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(StepFailed, match="too large"):
        unpack(tmp_path / "x.tar.gz")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_is_read_through_every_compression(tmp_path: Path, mode: str) -> None:
    ending = {"w": "tar", "w:gz": "tgz", "w:bz2": "tar.bz2", "w:xz": "tar.xz"}[mode]
    into = unpack(tar(tmp_path / f"x.{ending}", [("file", "a", "x" * 2000), ("file", "b", "y" * 512)], mode))
    assert ((into / "a").read_text(), (into / "b").read_text()) == ("x" * 2000, "y" * 512)


def test_a_hard_link_to_itself_leaves_the_file(tmp_path: Path) -> None:
    into = unpack(tar(tmp_path / "x.tar.gz", [("file", "a/f", "x"), ("hardlink", "a/f", "./a/f")]))
    assert (into / "a/f").read_text() == "x"


ZSTD = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")


@ZSTD
@pytest.mark.parametrize("content", ["x", "", "0123456789abcdef" * 100_000])
def test_zst_is_unpacked(tmp_path: Path, content: str) -> None:
    tar(tmp_path / "x.tar", [("file", "a", content), ("file", "b", "behind it")], "w")
    subprocess.run(["zstd", "-q", tmp_path / "x.tar"], check=True)
    into = unpack(tmp_path / "x.tar.zst")
    assert (into / "a").read_text() == content
    assert (into / "b").read_text() == "behind it"


@ZSTD
def test_zst_of_several_frames_is_one_stream(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        subprocess.run(["zstd", "-q", tmp_path / name], check=True)
    (tmp_path / "x.zst").write_bytes(b"".join((tmp_path / f"{name}.zst").read_bytes() for name in ("one", "two")))
    assert (unpack(tmp_path / "x.zst") / "x").read_text() == "onetwo"


@ZSTD
def test_zst_that_is_broken_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(100_000))
    subprocess.run(["zstd", "-q", tmp_path / "x", "-o", tmp_path / "whole.zst"], check=True)
    whole = (tmp_path / "whole.zst").read_bytes()
    for name, content in {"cut.zst": whole[:-10], "none.zst": b"", "other.zst": b"<html>" * 9}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StepFailed, match=f"{name}: broken"):
            unpack(tmp_path / name)


@pytest.fixture
def no_zstd_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd, "library", lambda: None)


@ZSTD
@pytest.mark.usefixtures("no_zstd_library")
def test_zst_is_unpacked_by_the_program_where_there_is_no_library(tmp_path: Path) -> None:
    tar(tmp_path / "x.tar", [("file", "a", "x")], "w")
    subprocess.run(["zstd", "-q", tmp_path / "x.tar"], check=True)
    assert (unpack(tmp_path / "x.tar.zst") / "a").read_text() == "x"


@pytest.mark.usefixtures("no_zstd_library")
def test_zst_without_the_program_names_the_package_to_declare(tmp_path: Path) -> None:
    (tmp_path / "x.tar.zst").write_bytes(b"")
    with pytest.raises(StepFailed, match="package zstd") as caught:
        extract(tmp_path / "x.tar.zst", tmp_path / "into", find=lambda _: None)
    assert caught.value.finding.data == {"command": "zstd", "needed_by": "x.tar.zst"}


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_single_compressed_file_keeps_its_name(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"tool.{ending}").write_bytes(compress(b"program"))
    assert (unpack(tmp_path / f"tool.{ending}") / "tool").read_bytes() == b"program"


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.tar.bz2", "x.zip", "x.gz"])
def test_a_broken_archive_is_called_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"this is no archive" * 100)
    with pytest.raises(StepFailed, match="broken") as caught:
        unpack(tmp_path / name)
    assert caught.value.finding.kind == "file_error"


def test_a_truncated_archive_is_called_broken(tmp_path: Path) -> None:
    whole = tar(tmp_path / "whole.tar.gz", [("file", "a", os.urandom(50_000).hex())])
    (tmp_path / "x.tar.gz").write_bytes(whole.read_bytes()[:20_000])
    with pytest.raises(StepFailed, match="broken"):
        unpack(tmp_path / "x.tar.gz")


def test_the_declared_format_wins_over_the_name(tmp_path: Path) -> None:
    archive = tar(tmp_path / "blob", [("file", "a", "x")])
    assert (unpack(archive, declared="tar.gz") / "a").read_text() == "x"


@pytest.mark.parametrize(("name", "declared"), [("blob", None), ("x.tar.gz", "rar")])
def test_an_unknown_format_is_an_error(tmp_path: Path, name: str, declared: str | None) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(StepFailed, match="format"):
        unpack(tmp_path / name, declared=declared)
