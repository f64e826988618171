"""The order of networks, and how far proxies agree about it."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

import pytest

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.proxies.base import NetworkScore, Score
from firstlight.proxies.ensembles import Ensemble, parse_criterion
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.ranking import Ranking, rank_networks, read_criteria

NAMES = ("dextr", "curvature")


def network(text: str, *values: float | None, higher_is_better: bool = True) -> NetworkScore:
    scores = {
        name: Score.without_value("unsupported", "no ReLU")
        if value is None
        else Score(value, higher_is_better=higher_is_better)
        for name, value in zip(NAMES, values, strict=True)
    }
    return NetworkScore(text, scores, Cost(10, 20))


def ranked(networks: list[NetworkScore], by: str = "dextr") -> Ranking:
    return rank_networks(networks, [ProxyRequest.parse(name) for name in NAMES], parse_criterion(by))


def order(ranking: Ranking) -> list[tuple[int | None, str]]:
    return [(row.rank, row.network.architecture) for row in ranking.rows]


def test_best_first_equals_share_a_rank_and_those_without_a_value_come_last() -> None:
    networks = [network(*row) for row in (("a", None, 1), ("e", 2, 1), ("b", 2, 1), ("c", 5, 1), ("d", -1, 1))]
    for _ in range(5):
        random.shuffle(networks)
        ranking = ranked(networks)
        assert order(ranking) == [(1, "c"), (2, "b"), (2, "e"), (4, "d"), (None, "a")]
        assert [row.value for row in ranking.rows] == [5, 2, 2, -1, None]


def test_a_proxy_where_lower_is_better() -> None:
    ranking = ranked([network("a", 1, 3, higher_is_better=False), network("b", 2, 2, higher_is_better=False)])
    assert order(ranking) == [(1, "a"), (2, "b")]
    assert ranking.rows[0].value == 1  # the value itself, not what it is worth


def test_by_an_ensemble_a_missing_score_counts_as_the_lowest() -> None:
    networks = [network("a", 3, 3), network("b", 9, None), network("c", None, None), network("d", 1, 4)]
    ranking = ranked(networks, "rank_mean(dextr,curvature)")
    assert order(ranking) == [(1, "a"), (1, "d"), (3, "b"), (None, "c")]
    values = {row.network.architecture: row.value for row in ranking.rows}
    assert values == {"a": (3 + 3) / 8, "b": (4 + 1.5) / 8, "d": (2 + 4) / 8, "c": None}


def test_agreement_counts_networks_with_both_values() -> None:
    networks = [network("a", 1, 1), network("b", 2, 3), network("c", 3, 2), network("d", 4, 4), network("e", 0, None)]
    (pair,) = ranked(networks).agreement
    assert (pair.first, pair.second, pair.networks) == (*NAMES, 4)
    assert pair.spearman == pytest.approx(0.8)
    assert pair.kendall == pytest.approx(4 / 6)


def test_agreement_is_about_what_is_better() -> None:
    def mixed(text: str, one: float, other: float) -> NetworkScore:
        return NetworkScore(text, {"dextr": Score(one), "curvature": Score(other, higher_is_better=False)}, Cost(1, 1))

    (pair,) = ranked([mixed("a", 1, 9), mixed("b", 2, 5), mixed("c", 3, 1)]).agreement
    assert pair.spearman == pytest.approx(1)
    assert pair.kendall == pytest.approx(1)


@pytest.mark.parametrize("rows", [[(1, 1), (2, 2)], [(1, 1), (2, 2), (3, None)], [(1, 7), (2, 7), (3, 7)], [(1, None)]])
def test_agreement_that_is_not_defined(rows: list[tuple[float, float | None]]) -> None:
    (pair,) = ranked([network(f"n{i}", *row) for i, row in enumerate(rows)]).agreement
    assert (pair.spearman, pair.kendall) == (None, None)
    assert pair.networks == sum(other is not None for _, other in rows)


def test_which_proxies_are_asked() -> None:
    def asked(proxies: str | list[str] | None, by: str | None) -> tuple[list[str], str]:
        requests, criterion = read_criteria(proxies, by)
        return [str(request) for request in requests], str(criterion)

    assert asked(None, None) == (["dextr"], "dextr")
    assert asked("params,dextr,params", None) == (["params", "dextr"], "params")
    assert asked(None, "macs") == (["macs"], "macs")
    assert asked(["params"], "log_rank(dextr,params)") == (["params", "dextr"], "log_rank(dextr,params)")
    assert isinstance(read_criteria(None, "log_rank(dextr)")[1], Ensemble)


def test_json_and_table(tmp_path: Path) -> None:
    ranking = ranked([network("a", 1.5, None), network("b", 2, 3)], "rank_mean(dextr)")
    content = ranking.to_dict()
    assert content["by"] == "rank_mean(dextr)"
    assert [(row["rank"], row["architecture"]) for row in content["networks"]] == [(1, "b"), (2, "a")]
    assert content["agreement"] == [{"proxies": list(NAMES), "networks": 1, "spearman": None, "kendall": None}]
    ranking.write_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first) == ["rank", "network", "rank_mean(dextr)", *NAMES, "params", "macs", "remarks"]
    assert math.isclose(float(second["dextr"]), 1.5)
    assert (second["curvature"], second["remarks"]) == ("", "curvature: unsupported (no ReLU)")
    with pytest.raises(SettingError, match="cannot be written"):
        ranking.write_csv(tmp_path / "missing" / "table.csv")


def test_the_text_says_why_networks_have_no_value() -> None:
    lines = str(ranked([network("a", None, 1.0), network("b", 1.0, 2.0)])).splitlines()
    assert lines[-1] == "dextr has no value for 1 of 2 networks (a): unsupported (no ReLU)"


def test_costs_are_written_with_all_digits() -> None:
    known = network("a", 1.5, 1.0)
    text = str(ranked([NetworkScore(known.architecture, known.scores, Cost(137_418, 8_585_860))]))
    assert "137,418" in text
    assert "8,585,860" in text


def test_proxies_that_nobody_named_are_explained() -> None:
    requests, by = read_criteria("sigeo,params", None)
    scores = {str(request): Score(1.0) for request in requests}
    found = rank_networks([NetworkScore("a", scores, Cost(1, 2))], requests, by)
    assert found.remarks == ("zico and loss are always reported with sigeo.",)
    assert str(found).endswith(found.remarks[0])
    assert found.to_dict()["remarks"] == list(found.remarks)
    assert "remarks" not in ranked([network("a", 1, 1)]).to_dict()
