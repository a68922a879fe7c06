"""Cells on a real Dask scheduler with several workers on this machine, one of them killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.integration.conftest import ROOT, Cli
from tests.integration.matrix.recipes import Workshop
from tests.unit.matrix.fakes import FakeProver, cell
from tsandbox.engine import Engine
from tsandbox.errors import UsageError
from tsandbox.matrix import cluster_watch
from tsandbox.matrix.cluster import on_dask
from tsandbox.matrix.cluster_watch import ClusterUnavailable
from tsandbox.matrix.run import Summary, run_cells
from tsandbox.matrix.schedule import Schedule
from tsandbox.matrix.store import result_files
from tsandbox.matrix.workers import Started
from tsandbox.report.result import decode

# All in one place: a scheduler and its workers take a few hundred megabytes.
pytestmark = pytest.mark.xdist_group("dask")


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = ""
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        log = (self.directory / f"{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *args],
            env={**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "0"},
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start(
            "worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"
        )

    def wait_for_workers(self, count: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=120)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", "scheduler.json"
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        # Dask creates the file first and fills it then.
        while not (written := tmp_path / "scheduler.json").exists() or not written.read_text().endswith("}"):
            assert time.monotonic() < deadline, (tmp_path / "0.log").read_text()
            time.sleep(0.05)
        made.address = json.loads(written.read_text())["address"]
        yield made
    finally:
        made.stop()


@pytest.fixture
def prover(tmp_path: Path) -> FakeProver:
    diary = tmp_path / "diary"
    diary.touch()
    return FakeProver(diary=str(diary))


def on_cluster(cluster: Cluster, prover: FakeProver, *tools: str, retries: int = 1) -> Summary:
    cells = [cell(name, f"sha256:{name[:2]}") for name in tools]
    return run_cells(
        cells,
        on_dask(prover, scheduler=cluster.address, retries=retries),
        cluster.directory / "results",
    )


def when(condition: Callable[[], bool], act: Callable[[], object]) -> Thread:
    def wait() -> None:
        while not condition():
            time.sleep(0.02)
        act()

    thread = Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_killed_worker_s_cells_run_elsewhere_and_each_is_recorded_once(cluster: Cluster, prover: FakeProver) -> None:
    for _ in range(3):
        cluster.worker()
    cluster.wait_for_workers(3)
    # One group whose second cell hangs on the first worker that gets it, and nine others.
    tools = ["aa1", "aa-hangs-once", "aa3", *(f"b{number}" for number in range(9))]
    hangs = cell("aa-hangs-once", "sha256:aa").id

    def kill_it() -> None:
        [process] = {line.split()[1] for line in Path(prover.diary).read_text().splitlines() if line.startswith(hangs)}
        os.kill(int(process), signal.SIGKILL)

    killer = when(lambda: hangs in prover.asked(), kill_it)
    summary = on_cluster(cluster, prover, *tools)
    killer.join(10)
    assert summary.counts == {"passed": 12}
    asked = Counter(prover.asked())
    # The whole group was run again on another worker: what the dead one knew is gone with it.
    assert (asked[cell("aa1").id], asked[hangs], asked[cell("aa3").id]) == (2, 2, 1)
    results = [decode(path.read_bytes()) for path in result_files([cluster.directory / "results"])]
    assert sorted(result.cell or "" for result in results) == sorted(cell(name).id for name in tools)
    dead = [process for process in cluster.processes if process.poll() is not None]
    assert len(dead) == 1


def test_cells_that_kill_every_worker_fail_and_lose_no_other(cluster: Cluster, prover: FakeProver) -> None:
    for _ in range(6):
        cluster.worker()
    cluster.wait_for_workers(6)
    summary = on_cluster(cluster, prover, "dies", "zz1", "zz-bad", retries=0)
    assert summary.counts == {"error": 1, "passed": 1, "failed": 1}
    assert summary.exit_codes == {0: 1, 1: 1, 8: 1}


def test_a_scheduler_that_dies_ends_the_run_which_can_go_on(
    cluster: Cluster, prover: FakeProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_watch, "_CONNECT", 3)
    cluster.worker()
    cluster.wait_for_workers(1)
    first = cluster.directory / "results" / "cells" / f"{cell('a').id}.json"
    when(lambda: first.exists() and cell("zz-hangs-once").id in prover.asked(), cluster.processes[0].kill)
    # More than the cluster is given at once: some are still with us when it is gone.
    with pytest.raises(ClusterUnavailable, match="stopped answering") as caught:
        on_cluster(cluster, prover, "a", "zz-hangs-once", *(f"z{number}" for number in range(8)))
    assert "--resume" in (caught.value.hint or "")
    assert list(result_files([cluster.directory / "results"])) == [first]


def test_a_cluster_that_lost_its_last_worker_is_not_waited_for_without_end(
    cluster: Cluster, prover: FakeProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_watch, "_ASK", 0.1)
    monkeypatch.setattr(cluster_watch, "_DESERTED", 0.5)
    worker = cluster.worker()
    cluster.wait_for_workers(1)
    when(lambda: bool(prover.asked()), worker.kill)
    with pytest.raises(ClusterUnavailable, match="has had no workers"):
        on_cluster(cluster, prover, "zz-hangs-once")


def test_retries_and_failures_are_as_on_one_machine(cluster: Cluster, prover: FakeProver) -> None:
    cluster.worker()
    cluster.wait_for_workers(1)
    summary = on_cluster(cluster, prover, "a-flaky", "b-lost", "c-bad", "d-bug", "e")
    assert summary.counts == {"flaky": 1, "error": 2, "failed": 1, "passed": 1}


def test_leaving_early_takes_back_what_has_not_begun(cluster: Cluster, prover: FakeProver) -> None:
    cluster.worker()
    cluster.wait_for_workers(1)
    schedule = Schedule([cell(f"{number:02}", f"sha256:{number}") for number in range(30)])
    events = on_dask(prover, scheduler=cluster.address, retries=0)(schedule)
    assert isinstance(next(events), Started)
    events.close()
    time.sleep(0.5)
    assert len(prover.asked()) < 30


def test_a_scheduler_without_workers_or_without_an_answer_is_told(
    cluster: Cluster, prover: FakeProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_watch, "_CONNECT", 2)
    with pytest.raises(ClusterUnavailable, match="has no workers"):
        on_cluster(cluster, prover, "a")
    cluster.address = "tcp://127.0.0.1:1"
    with pytest.raises(ClusterUnavailable, match="does not answer"):
        on_cluster(cluster, prover, "a")


def test_without_dask_it_says_what_to_install(
    cluster: Cluster, prover: FakeProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="needs Dask") as caught:
        on_cluster(cluster, prover, "a")
    assert caught.value.hint == "pip install 'tsandbox[dask]'"


def test_workers_prove_recipes_that_they_do_not_have(
    cluster: Cluster, podman_cli: Cli, podman: Engine, workshop: Workshop, tmp_path: Path
) -> None:
    """The workers run in another directory, where the relative names of the recipes lead nowhere."""
    for name in ("a", "b"):
        workshop.recipe(name)
    workshop.recipe("c-bad", "two", expected="never said")
    os.environ["TSANDBOX_ENGINE"] = "podman"
    try:
        for _ in range(2):
            cluster.worker()
    finally:
        del os.environ["TSANDBOX_ENGINE"]
    cluster.wait_for_workers(2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").symlink_to(workshop.directory)
    argv = ("matrix", "run", "mine", "--executor", "dask", "--scheduler", cluster.address, "--json")
    ran = json.loads(podman_cli(*argv, cwd=elsewhere, code=8).stdout)
    assert ran["counts"] == {"passed": 2, "failed": 1}
    assert ran["builds"] + ran["cache_hits"] == 3
    podman_cli("matrix", "merge", "tsandbox-results", cwd=elsewhere, code=8)
    [log] = (elsewhere / "tsandbox-results" / "logs").iterdir()
    assert "c-bad" in log.read_text()
    workshop.clean(podman)
