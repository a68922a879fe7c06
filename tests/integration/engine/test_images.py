"""Images: imported, built, found by label, tagged, saved, loaded and removed, on each real engine."""

import secrets
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tsandbox.engine import BuildRequest, Engine, Image
from tsandbox.engine.probe import native_platform
from tsandbox.errors import BuildFailed, EngineUnavailable, TimedOut

from .conftest import LABEL, Create, command_lines


def request(tmp_path: Path, image: Image, *lines: str, **fields: object) -> BuildRequest:
    context = tmp_path / "context"
    context.mkdir(exist_ok=True)
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("\n".join([f"FROM {image.tags[0]}", *lines]) + "\n")
    random = secrets.token_hex(8)
    words = {"tag": f"localhost/tsandbox-test:{random}", "labels": {LABEL: random}, "no_cache": True, **fields}
    return BuildRequest(context=context, dockerfile=dockerfile, platform=native_platform(), **words)  # type: ignore[arg-type]


def test_an_import_keeps_its_labels_whatever_they_hold(engine: Engine, rootfs: Path) -> None:
    reference = f"localhost/tsandbox-test:{secrets.token_hex(8)}"
    labels = {"plain": "1", "json": '{"a": "b c", "d": [1, 2]}', "shell": "$HOME `id` \\ 'x'"}
    try:
        made = engine.import_rootfs(rootfs, reference, labels=labels, platform=native_platform())
        assert made.labels == labels
        assert reference in made.tags
        assert made.size > 1_000_000
        assert engine.image(reference) == made
    finally:
        engine.remove_image(reference)
    assert engine.image(reference) is None


def test_a_build_has_its_tag_labels_and_files(engine: Engine, image: Image, tmp_path: Path) -> None:
    lines: list[str] = []
    asked = request(tmp_path, image, "COPY hello /data/", "RUN /bin/cat /data/hello", 'CMD ["/bin/sh"]')
    (asked.context / "hello").write_text("from the context\n")
    try:
        built = engine.build(asked, on_line=lines.append)
        assert asked.tag in built.tags
        assert built.labels.items() >= asked.labels.items()
        assert any("from the context" in line for line in lines)
        assert [found.id for found in engine.images(f"{LABEL}={asked.labels[LABEL]}")] == [built.id]
    finally:
        engine.remove_image(asked.tag)


def test_labels_of_any_content_survive_a_build(engine: Engine, image: Image, tmp_path: Path) -> None:
    preimage = '{"dockerfile": "FROM x\\nRUN echo \\"$PATH\\" \'a\'\\n", "n": 1}'
    asked = request(tmp_path, image, "RUN /bin/touch /data/x", labels={LABEL: "quoting", "preimage": preimage})
    try:
        assert engine.build(asked, on_line=str).labels["preimage"] == preimage
    finally:
        engine.remove_image(asked.tag)


def test_cache_mounts_and_secrets_reach_a_step_and_stay_out_of_the_image(
    engine: Engine, image: Image, tmp_path: Path, create: Create
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret-" + secrets.token_hex(8))
    lines: list[str] = []
    random = secrets.token_hex(8)
    mounts = f"--mount=type=cache,id={random},target=/data/cache --mount=type=secret,id=token,target=/data/token"
    asked = request(
        tmp_path,
        image,
        f"RUN {mounts} /bin/cat /data/token && /bin/touch /data/cache/kept",
        f"RUN --mount=type=cache,id={random},target=/data/cache /bin/ls /data/cache",
        secrets={"token": secret},
    )
    try:
        built = engine.build(asked, on_line=lines.append)
        text = "\n".join(lines)
        assert secret.read_text() in text
        assert "kept" in text
        container = create("/bin/sh", "-c", "/bin/ls /data/cache; /bin/cat /data/token", image=built.id)
        output = b"".join(chunk for _, chunk in engine.attach(container, timeout=60))
        assert secret.read_text().encode() not in output
        assert b"kept" not in output
        engine.remove(container)
    finally:
        engine.remove_image(asked.tag)


def test_build_arguments_pass_by_the_environment_and_not_by_argv(engine: Engine, image: Image, tmp_path: Path) -> None:
    value = "http://user:" + secrets.token_hex(8) + "@proxy.example.com"
    lines: list[str] = []
    asked = request(
        tmp_path,
        image,
        "ARG HTTP_PROXY",
        # The step sees the value, and the command lines of all processes that it can see do not hold it.
        'RUN /bin/sh -c "echo got $HTTP_PROXY" && /bin/sleep 1',
        build_args={"HTTP_PROXY": value},
    )
    seen: list[str] = []

    def watch(line: str) -> None:
        lines.append(line)
        seen.extend(command_lines(containing=value))

    try:
        built = engine.build(asked, on_line=watch)
        assert any(f"got {value}" in line for line in lines)
        # The step itself holds the value in its own argv inside the container: the client must not.
        assert not [line for line in seen if "build-arg" in line]
        assert value not in repr(built)
    finally:
        engine.remove_image(asked.tag)


def test_a_failing_step_is_a_failed_build_with_its_last_words(engine: Engine, image: Image, tmp_path: Path) -> None:
    asked = request(tmp_path, image, 'RUN /bin/sh -c "echo last words; exit 7"')
    with pytest.raises(BuildFailed) as failed:
        engine.build(asked, on_line=str)
    assert failed.value.exit_code == 6
    assert any("last words" in line for line in failed.value.details)
    assert any(" build " in line and line.startswith("$") for line in failed.value.details)
    assert engine.image(asked.tag) is None


def test_a_step_that_prints_like_a_broken_engine_is_still_a_failed_build(
    engine: Engine, image: Image, tmp_path: Path
) -> None:
    words = "permission denied while trying to connect; unknown flag: --x; setrlimit"
    filler = "; ".join(f"echo {i}" for i in range(30))
    asked = request(tmp_path, image, f'RUN /bin/sh -c "echo {words.replace(";", ",")}; {filler}; exit 1"')
    with pytest.raises(BuildFailed) as failed:
        engine.build(asked, on_line=str)
    assert type(failed.value) is BuildFailed


def test_a_build_that_takes_too_long_is_stopped(engine: Engine, image: Image, tmp_path: Path) -> None:
    asked = request(tmp_path, image, "RUN /bin/sleep 300", timeout=4)
    with pytest.raises(TimedOut):
        engine.build(asked, on_line=str)
    assert engine.image(asked.tag) is None


def test_a_tag_comes_and_goes_and_the_image_stays(engine: Engine, image: Image) -> None:
    reference = f"localhost/tsandbox-test:{secrets.token_hex(8)}"
    engine.tag(image.id, reference)
    found = engine.image(reference)
    assert found is not None
    assert found.id == image.id
    engine.remove_image(reference)
    assert engine.image(reference) is None
    assert engine.image(image.id) is not None
    engine.remove_image(reference)  # a second time is no error


def test_an_archive_holds_the_same_image(engine: Engine, image: Image, tmp_path: Path) -> None:
    asked = request(tmp_path, image, "RUN /bin/touch /data/x")
    archive = tmp_path / "image.oci.tar"
    try:
        built = engine.build(asked, on_line=str)
        engine.save(asked.tag, archive)
        engine.remove_image(asked.tag)
        assert engine.image(asked.tag) is None
        loaded = engine.load(archive)
        assert loaded.labels == built.labels
        found = engine.image(asked.tag)
        assert found is not None
        assert found.id == loaded.id
    finally:
        engine.remove_image(asked.tag)


def test_an_archive_that_is_none_is_refused(engine: Engine, tmp_path: Path) -> None:
    archive = tmp_path / "image.oci.tar"
    archive.write_bytes(b"not an archive")
    with pytest.raises((EngineUnavailable, BuildFailed)):
        engine.load(archive)


def test_images_with_another_label_are_not_listed(engine: Engine, image: Image) -> None:
    assert engine.images(f"{LABEL}={image.tags[0]}") == [engine.image(image.id)]
    assert engine.images("io.tsandbox.nobody=here") == []


def test_images_are_listed_while_others_come_and_go(engine: Engine, image: Image, tmp_path: Path) -> None:
    """A process that removes images must not make ours disappear from the list, or the list fail."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tsandbox.engine import connect\n"
        "from tsandbox.engine.probe import native_platform\n"
        "engine = connect(sys.argv[1])\n"
        "for i in range(12):\n"
        "    reference = f'localhost/tsandbox-test:{sys.argv[3]}-{i}'\n"
        "    labels = {'io.tsandbox.test': sys.argv[3]}\n"
        "    engine.import_rootfs(Path(sys.argv[2]), reference, labels=labels, platform=native_platform())\n"
        "    engine.remove_image(reference)\n"
    )
    tar = tmp_path / "small.tar"
    with tarfile.open(tar, "w") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    random = secrets.token_hex(8)
    kept = f"localhost/tsandbox-test:{random}-kept"
    engine.import_rootfs(tar, kept, labels={LABEL: random}, platform=native_platform())
    try:
        with subprocess.Popen([sys.executable, "-c", code, engine.name, str(tar), random]) as busy:
            while busy.poll() is None:
                assert kept in [tag for found in engine.images(f"{LABEL}={random}") for tag in found.tags]
        assert busy.returncode == 0
    finally:
        engine.remove_image(kept)
