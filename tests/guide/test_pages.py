"""The pages say what the code says: they are made from it, and their links lead somewhere."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tools.pages import proxies

from firstlight.core.references import REFERENCES
from firstlight.export.exporter import FORMATS, export
from firstlight.papers import EXPERIMENTS
from firstlight.proxies import PROXIES
from firstlight.proxies.base import Parts, proxy
from firstlight.proxies.ensembles import Ensemble
from firstlight.proxies.requests import ProxyRequest
from firstlight.search.algorithm import AlgorithmRequest
from firstlight.search.algorithms import ALGORITHMS
from firstlight.search.algorithms.nasi import Rule
from firstlight.spaces import SPACES
from firstlight.training.recipes import WARM_UPS
from firstlight.training.warm_up import WarmUp, read_warm_up
from firstlight.views.catalog import ensemble_facts, facts
from tools import docs

ROOT = Path(__file__).parent.parent.parent
WRITTEN = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples" / "README.md"]


def test_the_pages_are_those_that_make_docs_writes() -> None:
    written, committed = docs.pages(), docs.committed()
    assert written.keys() == committed.keys(), "run `make docs` and commit docs/"
    assert [name for name, text in written.items() if committed[name] != text] == [], "run `make docs` and commit docs/"


@pytest.mark.parametrize("name", PROXIES)
def test_a_docstring_is_complete(name: str) -> None:
    known = facts(PROXIES[name])
    assert re.match(r"\w+ = ", known.formula), "the formula is an indented paragraph of the docstring"
    assert known.scale
    assert known.cost
    assert known.direction.startswith(known.better.capitalize())
    assert known.family
    assert len(known.summary) <= 64, "the listing has one line for each proxy"
    assert not any("Scale:" in text or " = sum" in text for text in known.remarks)
    assert [name for name in known.settings if not known.setting_help.get(name)] == [], "a line of `Args:` for each"


def test_every_reference_is_in_the_bibliography() -> None:
    entries = (*PROXIES.values(), *SPACES.values(), *ALGORITHMS.values())
    named = {entry.reference for entry in entries}
    named |= {table.reference for entry in EXPERIMENTS.values() for table in entry.answers}
    assert named - {""} == REFERENCES.keys()
    for key, reference in REFERENCES.items():
        surname = unicodedata.normalize("NFD", reference.authors.split(",")[0].split()[-1])
        surname = "".join(letter for letter in surname if not unicodedata.combining(letter))
        assert re.fullmatch(rf"{surname}{reference.year}[a-z0-9]+", key)


def test_facts_of_a_proxy_that_says_little() -> None:
    @proxy(reference="Unknown1999")
    def terse(probe: Any) -> Parts:
        """Nothing to add."""
        return Parts(0.0)

    known = facts(terse)
    assert (known.formula, known.remarks, known.scale, known.direction, known.cost) == ("", (), "", "", "")
    assert known.citation == "Unknown1999"


def test_facts_of_ensembles() -> None:
    known = ensemble_facts()
    assert known.keys() >= {"az_nas", "log_rank", "rank_mean"}
    for name, entry in known.items():
        assert str(Ensemble.parse(entry.example)) == entry.example
        assert entry.summary.endswith(".")
        assert all(entry.example in use for use in entry.uses), name
    assert known["az_nas"].members == ("az_expressivity", "az_progressivity", "az_trainability", "macs")
    assert known["az_nas"].citation.startswith("Junghyup Lee")


def test_needs_are_told_in_words() -> None:
    assert facts(PROXIES["params"]).needs_in_words == "only the shape of an input."
    assert facts(PROXIES["az_expressivity"]).needs_in_words.endswith("noise in the shape of 64 inputs.")
    assert facts(PROXIES["dextr"]).needs_in_words == "one batch of one input, without labels."
    assert facts(PROXIES["zico"]).needs_in_words == "2 batches of 64 inputs, with labels."


def test_settings_of_a_page_are_the_defaults() -> None:
    for name in PROXIES:
        for asked in re.findall(rf"`({name}:\S+)`", proxies.page(facts(PROXIES[name]))):
            assert str(ProxyRequest.parse(asked)) == name


def test_the_guide_names_proxies_that_there_are() -> None:
    text = (ROOT / "docs" / "which-proxy-when.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]\w*(?::[^`]*)?)`", text)
    assert len(set(named)) > 30
    for asked in named:
        ProxyRequest.parse(asked)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in link or (path.parent / link).exists(), link


def test_the_page_of_warm_ups_knows_recipes_and_writes_warm_ups_that_can_be_read() -> None:
    text = (ROOT / "docs" / "warm-up.md").read_text(encoding="utf-8")
    own, shared = text.split("## Shared weights\n")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", own, re.MULTILINE)
    assert {name for name, _, _ in rows} == {"epochs", "batch_size", "learning_rate", "momentum"}
    for name, plain, official in rows:
        assert (float(plain), float(official)) == tuple(getattr(WARM_UPS[kind], name) for kind in ("plain", "official"))
    for name, clicks, images in re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", shared, re.MULTILINE):
        usual = [read_warm_up("1%:weights=shared", SPACES[space]) for space in ("nasrec-small", "nasbench201")]
        assert [float(clicks), float(images)] == [getattr(warm_up.recipe, name) for warm_up in usual if warm_up]
    written = [part for given in re.findall(r"--warmup ([^\s`]+)", text) for part in given.split(",")]
    assert len(written) > 6
    for part in written:
        found = read_warm_up(part, SPACES["nasbench201"])
        if isinstance(found, WarmUp):
            assert str(found).endswith("momentum=0.9") != ("official" in part)


def test_what_the_page_of_nasi_shows_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "papers" / "nasi.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    small = "skeleton={'cells': 1, 'channels': 2, 'input_shape': (3, 8, 8)}, workers=0, out="
    names: dict[str, Any] = {}
    exec(code.replace("100", "4").replace("16", "2").replace("out=", small), names)
    assert len(names["steps"]) == 4
    assert names["judge"].seconds > 0  # what the stored steps took
    assert len(names["found"]) == 4
    assert Rule(nu=names["nu"]).growth(names["steps"])[-1].tolist() == [
        value for values in names["result"].findings["one_shot"]["preferences"].values() for value in values
    ]


def test_the_page_of_nasi_knows_its_settings_and_their_defaults() -> None:
    text = (ROOT / "docs" / "papers" / "nasi.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    settings = ALGORITHMS["nasi"].settings
    assert rows.keys() == settings.keys()
    for name, default in rows.items():
        told = re.match(r"`?([\w.]+)", default)
        assert told is not None
        expected = settings[name].default
        assert told[1] == (
            "false" if expected is False else f"{expected:g}" if isinstance(expected, float) else str(expected)
        )
    for line in re.findall(r"^firstlight search (.*?)(?: +#.*)?$", text, re.MULTILINE):
        space, _, words = line.partition(" --algorithm ")
        request = AlgorithmRequest.parse(words.split()[0])
        request.algorithm.check(SPACES[space])


def test_the_page_of_export_shows_what_is_written(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    shown = next(code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if code.startswith("class"))
    (architecture,) = re.findall(r"^firstlight export nasbench201 '(.*)' -o", text, re.MULTILINE)
    export(architecture, tmp_path / "out", space="nasbench201", formats=["source"])
    written = (tmp_path / "out" / "network.py").read_text(encoding="utf-8")
    for part in shown.strip().split("\n\n\n"):  # but for the line breaks, which the formatter of the pages sets
        assert "".join(part.split()) in "".join(written.split())
    assert all(f"| `{name}` | `{file}` |" in text for name, file in FORMATS.items())
