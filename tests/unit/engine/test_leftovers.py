"""Leftovers are looked for with the runtime's list, and a list that fails is not an empty one."""

import json
from pathlib import Path

import pytest

from tsandbox.engine import leftovers
from tsandbox.engine.command import EngineCommand


def runtime(tmp_path: Path, *lines: str) -> str:
    """A runtime that answers with these shell lines."""
    path = tmp_path / "runtime"
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "builds" / "1-1-abc"
    made.mkdir(parents=True)
    leftovers.prepare(made)
    return made


def clean(work: Path, program: str) -> None:
    command = EngineCommand("podman", "true")
    leftovers.clean(command, work, runtime=program, storage=work.parent / "graph", rootless=False)


def test_only_bundles_in_the_directory_of_the_build_are_its_own(work: Path, tmp_path: Path) -> None:
    listed = [
        {"id": "mine", "bundle": f"{work}/tmp/buildah1"},
        {"id": "another build", "bundle": f"{work}2/tmp/buildah2"},
        {"id": "somebody", "bundle": "/run/containers/x"},
        {"id": "odd"},
    ]
    program = runtime(tmp_path, f"echo '{json.dumps(listed)}'")
    assert leftovers.bundled_under(work, runtime=program, env={}) == ["mine"]


def test_an_empty_list_is_null(work: Path, tmp_path: Path) -> None:
    assert leftovers.bundled_under(work, runtime=runtime(tmp_path, "echo null"), env={}) == []


def test_a_list_that_fails_for_a_moment_is_asked_again(work: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = runtime(tmp_path, f"test -e {seen} && exec echo null", f"touch {seen}; echo 'container gone' >&2; exit 1")
    assert leftovers.bundled_under(work, runtime=program, env={}) == []


def test_a_list_that_keeps_failing_leaves_the_work_to_the_next_command(work: Path, tmp_path: Path) -> None:
    clean(work, runtime(tmp_path, "exit 1"))
    assert work.exists()
    clean(work, runtime(tmp_path, "echo null"))
    assert not work.exists()


def test_working_containers_are_told_by_the_mark_of_the_build(work: Path) -> None:
    graph = work.parent / "graph"
    for name, mark in (("mine", work / "mark"), ("other", Path("/elsewhere/mark"))):
        state = graph / "overlay-containers" / name / "userdata" / "buildah.json"
        state.parent.mkdir(parents=True)
        state.write_text(json.dumps({"secrets": [f"id=tsandbox-build,src={mark}"]}))
    assert leftovers.marked_with(work, graph) == ["mine"]


def test_a_container_that_cannot_be_removed_leaves_the_work_to_the_next_command(work: Path, tmp_path: Path) -> None:
    state = work.parent / "graph" / "overlay-containers" / "mine" / "userdata" / "buildah.json"
    state.parent.mkdir(parents=True)
    state.write_text(f"src={work / 'mark'}")
    program = runtime(tmp_path, "echo null")
    clean(work, program)
    assert work.exists()
    assert not (work / "tmp").exists()
    state.unlink()
    clean(work, program)
    assert not work.exists()
