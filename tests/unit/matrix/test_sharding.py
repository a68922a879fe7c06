from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import sample_results as samples
from tests.unit.matrix.fakes import cell
from tsandbox.errors import UsageError
from tsandbox.matrix.assemble import shard_again
from tsandbox.matrix.durations import Duration, Durations, record, with_costs
from tsandbox.matrix.model import Cell, MatrixPlan
from tsandbox.matrix.sharding import default_count, shard_cells

cells_of_any_kind = st.lists(
    st.tuples(st.integers(0, 8), st.sampled_from(["amd64", "arm64"]), st.integers(0, 9000), st.integers(0, 60_000)),
    min_size=1,
    max_size=60,
).map(
    lambda rows: [
        cell(f"t{number}", f"sha256:{key}{arch}", arch=arch, run_ms=run, build_ms=build)
        for number, (key, arch, run, build) in enumerate(rows)
    ]
)


@given(cells=cells_of_any_kind, count=st.integers(2, 12))
def test_every_cell_is_in_exactly_one_shard_of_its_own_architecture(cells: list[Cell], count: int) -> None:
    sharded, shards = shard_cells(cells, count)
    assert [each.id for each in sharded] == [each.id for each in cells]
    assert len(shards) <= count
    assert Counter(each.shard for each in sharded) == {shard.number: shard.cells for shard in shards}
    arch_of = {shard.number: shard.arch for shard in shards}
    assert all(arch_of[each.shard] == each.target.arch for each in sharded)
    assert all(shard.cells for shard in shards)


def test_cells_of_one_image_stay_together_and_the_work_is_even() -> None:
    cells = [cell(f"t{number}", f"sha256:{number // 3}", run_ms=1000, build_ms=10_000) for number in range(24)]
    sharded, shards = shard_cells(cells, 4)
    for key in {each.key for each in cells}:
        assert len({each.shard for each in sharded if each.key == key}) == 1
    assert [shard.cost_ms for shard in shards] == [26_000] * 4


def test_an_image_with_more_work_than_a_fair_share_is_cut() -> None:
    cells = [cell(f"t{number}", "sha256:same", run_ms=10_000, build_ms=1000) for number in range(40)]
    _, shards = shard_cells(cells, 4)
    assert len(shards) == 4
    assert max(shard.cells for shard in shards) <= 13


def test_the_longest_cells_do_not_end_up_in_one_shard() -> None:
    cells = [
        cell(f"t{number}", f"sha256:{number}", run_ms=run, build_ms=0) for number, run in enumerate([90, 80, 10, 20])
    ]
    _, shards = shard_cells(cells, 2)
    assert sorted(shard.cost_ms for shard in shards) == [100, 100]


def test_architectures_need_a_shard_each() -> None:
    with pytest.raises(UsageError, match="2 architectures do not fit into 1 shards"):
        shard_cells([cell("a", arch="amd64"), cell("b", arch="arm64")], 1)


def test_more_shards_than_images_are_not_made() -> None:
    cells = [cell(f"t{number}", f"sha256:{number % 5}") for number in range(20)]
    assert default_count(cells, 256) == 5
    assert default_count(cells, 3) == 3


def test_machines_that_ask_for_the_same_number_get_the_same_parts() -> None:
    plan = MatrixPlan(cells=tuple(cell(f"t{number}", f"sha256:{number}") for number in range(9)))
    assert shard_again(plan, 3) == shard_again(plan, 3)
    assert len(shard_again(plan, 3).shards) == 3
    assert shard_again(shard_again(plan, 3), 3) is not plan


def test_recorded_durations_keep_the_last_known_build() -> None:
    built = samples.passed("a", ms=30_000)
    hit = samples.passed("a", ms=1000)
    known = record([hit], record([built], Durations()))
    assert known.cells["a-linux-debian-amd64"] == Duration(run_ms=1000, build_ms=27_500)


def test_what_says_nothing_about_time_is_not_recorded() -> None:
    assert (
        record([samples.ended("error", "a", "debian"), samples.ended("timeout", "b", "debian")], Durations()).cells
        == {}
    )


def test_a_cell_nobody_has_run_costs_the_middle_of_the_others() -> None:
    known = {f"t{run}-linux-debian-amd64": Duration(run_ms=run, build_ms=run * 2) for run in (10, 20, 900)}
    cells = with_costs([cell("new"), cell("t900")], Durations(cells=known))
    assert [(each.run_ms, each.build_ms) for each in cells] == [(20, 40), (900, 1800)]
