"""Archives that are not what they claim to be, refused before an engine sees them."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tsandbox.build.oci import described
from tsandbox.build.share import read_sums
from tsandbox.errors import InvalidInput


def blob(content: bytes) -> tuple[str, bytes]:
    return f"blobs/sha256/{hashlib.sha256(content).hexdigest()}", content


def archive(path: Path, *, images: int = 1, damaged: bool = False, without_layer: bool = False) -> Path:
    layer_path, layer = blob(b"a layer")
    config_path, config = blob(json.dumps({"architecture": "amd64", "config": {"Labels": {"a": "b"}}}).encode())
    manifest_path, manifest = blob(
        json.dumps({"config": {"digest": _digest(config_path)}, "layers": [{"digest": _digest(layer_path)}]}).encode()
    )
    entry = {"digest": _digest(manifest_path), "annotations": {"org.opencontainers.image.ref.name": "n:1"}}
    files = {
        "index.json": json.dumps({"manifests": [entry] * images}).encode(),
        config_path: config,
        manifest_path: manifest,
        layer_path: b"A layer" if damaged else layer,
    }
    if without_layer:
        del files[layer_path]
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def _digest(path: str) -> str:
    return path.removeprefix("blobs/").replace("/", ":")


def test_a_sound_archive_tells_what_it_holds(tmp_path: Path) -> None:
    about = described(archive(tmp_path / "a.tar"), "jq.oci.tar")
    assert (about.name, about.arch, about.labels) == ("n:1", "amd64", {"a": "b"})


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"damaged": True}, "is damaged"), ({"images": 2}, "several"), ({"without_layer": True}, "is missing")],
)
def test_an_unsound_archive_is_refused(changes: dict[str, bool | int], told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=told):
        described(archive(tmp_path / "a.tar", **changes), "jq.oci.tar")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"", b"no tar", b"\0" * 10240])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"jq\.oci\.tar: not an OCI archive"):
        described(tmp_path / "a.tar", "jq.oci.tar")


@pytest.mark.parametrize(
    "text", ["", "nonsense\n", f"{'a' * 64}  ../outside\n", f"{'a' * 64}  /etc/passwd\n", f"{'A' * 64}  file\n"]
)
def test_checksums_name_plain_files_only(text: str, tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text(text)
    with pytest.raises(InvalidInput, match="SHA256SUMS"):
        read_sums(tmp_path)


def test_checksums_are_read(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text(f"{'a' * 64}  jq-1.oci.tar\n{'b' * 64}  manifest.json\n")
    assert read_sums(tmp_path) == {"jq-1.oci.tar": "a" * 64, "manifest.json": "b" * 64}
