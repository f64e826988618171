"""Go from a click log to a network that predicts clicks. The log is synthetic; prepare your own in the same way."""

import tempfile
from pathlib import Path

import firstlight
from firstlight.data.clicks.layouts import LAYOUTS
from firstlight.data.clicks.prepare import prepare_clicks
from firstlight.data.clicks.synthetic import synthesize_clicks


def main(folder: Path) -> None:
    synthesize_clicks(folder / "log.tsv", 1200)
    prepare_clicks(LAYOUTS["criteo"], folder / "log.tsv", folder / "clicks.parquet", hash_rows=50)

    # Train a supernet on half of the log; each candidate inherits its weights
    result = firstlight.search(
        "nasrec-small",
        data=f"criteo:{folder / 'clicks.parquet'}",
        proxy="sigeo",
        warmup="50%:batch_size=64:policy=single-path",
        batch_size=64,
        samples=3,
        max_params="300k",
        retrain=1,  # then train the best network from scratch, alongside handcrafted baselines
        recipe="clicks:batch_size=64",
        workers=0,
    )
    print(f"The best of {result.scored}: {result.best.architecture}")
    for network in result.retrained.standings:
        loss, auc = (network.mean("validation", figure) for figure in ("log_loss", "auc"))
        print(f"{network.kind}, {network.name:.20}: log loss {loss:.4f}, AUC {auc:.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
