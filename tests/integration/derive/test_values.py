"""Values of a recipe arrive in an image as they were written, whichever builder reads the Dockerfile."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.unit.derive.test_hostile_values import hostile
from tsandbox.engine import Engine
from tsandbox.recipe import grammar


def recipe(name: str, primitives: list[dict[str, object]]) -> str:
    listed = ",\n".join(_toml(primitive) for primitive in primitives)
    return f'[metadata]\nname = "{name}"\n\n[[steps]]\naction = "require_system"\nprimitives = [\n{listed}\n]\n'


def _toml(value: object) -> str:
    """JSON strings are TOML strings, but for the delete character."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


@pytest.fixture
def values() -> dict[str, str]:
    good = [
        text for text in hostile(150) if not grammar.one_line(text) and not any("\ud800" <= c <= "\udfff" for c in text)
    ]
    # A builder keeps each variable as a layer of its history, so this is about as many as are reasonable.
    return {f"V{i}": text for i, text in enumerate(good[:60])}


def test_variables_groups_and_files_arrive_unchanged(
    engine: Engine,
    engine_name: str,
    cli,
    values: dict[str, str],
    tmp_path: Path,  # type: ignore[no-untyped-def]
) -> None:
    content = "a=$HOME `id` \\n 'x' \"y\"\n"
    variables = [{"env_set": {"name": name, "value": value}} for name, value in values.items()]
    file = {"file_write": {"path": "/etc/made/a file", "content": content, "mode": "0640"}}
    path = tmp_path / "made.toml"
    path.write_text(recipe("hostile-values", [{"group_add": {"group": "made"}}, file, *variables]))
    built = json.loads(cli("build", path, "--json").stdout)
    image = built["image"] if engine_name == "docker" else f"localhost/{built['image']}"
    try:
        assert environment(engine_name, image).items() >= values.items()
        files = exported(engine_name, image, tmp_path)
        assert (files / "etc/made/a file").read_text() == content
        assert (files / "etc/made/a file").stat().st_mode & 0o7777 == 0o640
        assert "\nmade:x:900:" in (files / "etc/group").read_text()
        # What a build mounts into its steps leaves no trace in the image.
        assert not (files / "etc/apt").exists()
        assert not (files / "tsandbox").exists()
    finally:
        engine.remove_image(image)


def environment(engine_name: str, image: str) -> dict[str, str]:
    shown = subprocess.run([engine_name, "image", "inspect", image], capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in json.loads(shown.stdout)[0]["Config"]["Env"])


def exported(engine_name: str, image: str, place: Path) -> Path:
    """The image's files, from a container that is never started."""
    made = subprocess.run([engine_name, "create", image, "true"], capture_output=True, text=True, check=True)
    container = made.stdout.strip()
    root = place / "root"
    root.mkdir()
    try:
        archive = subprocess.run([engine_name, "export", container], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", root, "etc"], input=archive, check=True)
    finally:
        subprocess.run([engine_name, "rm", container], capture_output=True, check=True)
    return root
