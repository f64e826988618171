"""`firstlight plot` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import CELL, SILENT, SMALL, firstlight
from tests.evaluation.test_compare import compared

from firstlight.views.pages.comparison import write_comparison


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    search = ["search", "nasbench201", *SMALL, "--samples", "12", "--proxy", "l2_norm", "--workers", "0"]
    for seed in ("0", "1"):
        firstlight(*search, "--seed", seed, "--out", str(folder / f"search{seed}"))
    asked = "trust nasbench201 --data digits --train 10 --epochs 1 --data-samples 60 --proxy params,l2_norm --workers 0"
    firstlight(*asked.split(), *SMALL, "--recipe", "short:batch_size=16", "--out", str(folder / "trust"))
    (folder / "compared").mkdir()
    write_comparison(compared(("random",)), {"space": "transnas-micro"}, folder / "compared")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "scatter trust --proxy params --ranks",
        "bars trust",
        "agreement trust --width 3",
        "curves search0 search1",
        "curves search0 --against seconds",
        "curves compared --target toy_test_40 --against seconds",
        "front search0 --cost macs",
    ],
)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_of_folders(runs: Path, arguments: str, ending: str) -> None:
    out = runs / f"figure.{ending}"
    shown = firstlight("plot", *arguments.split(), "-o", str(out), folder=runs)
    assert shown.stdout.strip() == f"Figure: {out}"
    assert len(out.read_bytes()) > 2_000
    out.unlink()


def test_figures_of_networks(tmp_path: Path) -> None:
    for show in ("layers", "outputs"):
        asked = ["plot", "network", "nasbench201", CELL, CELL, *SMALL, "--show", show, "-o", f"{show}.png", "--json"]
        shown = firstlight(*asked, folder=tmp_path)
        assert json.loads(shown.stdout) == {"figure": f"{show}.png"}
        assert (tmp_path / f"{show}.png").stat().st_size > 5_000
    layers = "nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)"
    model = f"from torch import nn\ndef net(): return nn.Sequential({layers})\n"
    (tmp_path / "own_net.py").write_text(model, encoding="utf-8")
    firstlight(
        "plot", "network", "own_net:net", "--input-shape", "3,8,8", "--names", "mine", "-o", "own.svg", folder=tmp_path
    )
    assert (tmp_path / "own.svg").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["curves", "search0", "--against", "time"], "(--against) is 'time'; write queries or seconds"),
        (["curves", "search0", "--target", "x"], "selects a column of a comparison"),
        (["curves", "compared", "search0"], "drawn as one figure, but 2 folders were given"),
        (["surface", "search0"], "did not use hnas"),
        (["bars", "search0"], "holds no study of proxies"),
        (["front", "trust"], "holds no search"),
        (["network", "nasbench201"], "No architecture was given"),
        (["network", "nasbench201", CELL, "--names", "a,b"], "give 1 different ones"),
        (["network", "nasbench201", CELL, "--show", "all"], "(--show) is 'all'; write layers or outputs"),
        (["network", "nasbench201", SILENT, *SMALL, "--show", "outputs"], "does not depend on the input"),
        (["bars", "nothing", "-o", "figure.jpg"], "must end in .svg, .png, .pdf"),
        (["bars", "trust", "--width", "wide"], "write column, page, or inches"),
    ],
)
def test_what_cannot_be_drawn(runs: Path, arguments: list[str], said: str) -> None:
    out = [] if "-o" in arguments else ["-o", "figure.png"]
    shown = firstlight("plot", *arguments, *out, folder=runs, code=1)
    assert said in shown.stderr
    assert not (runs / "figure.png").exists()
