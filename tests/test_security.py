"""What is promised in SECURITY.md: nothing unsafe is read, no code is run but the user's, nothing asks the network."""

from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import SMALL, firstlight

import firstlight as package
from firstlight.probe.cost import Cost
from firstlight.storage.store import STORE_NAME, Store, Trial
from firstlight.views.pages.search import write_report

SOURCE = Path(package.__file__).parent
# Whatever can run code that a file holds, start programs, or reach other machines
DANGEROUS = {
    *("eval", "exec", "compile", "__import__", "importlib.import_module", "import_module", "os.system", "os.popen"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads", "shelve.open", "joblib.load", "yaml.load"),
    *("torch.load", "torch.jit.load", "torch.hub.load", "np.load", "numpy.load", "pd.read_pickle"),
}
FOREIGN = {*("subprocess", "socket", "urllib", "http", "requests", "ftplib", "smtplib"), "marshal", "runpy", "ctypes"}
ALLOWED = {
    ("__init__.py", "import_module"): "the package's own modules, by names written in the code",
    ("core/registry.py", "import_module"): "the package's own modules, by names written in the code",
    ("data/shares.py", "import_module"): "the same",
    ("data/sources.py", "import_module"): "the same",
    ("views/__init__.py", "import_module"): "the same",
    (
        "core/importing.py",
        "importlib.import_module",
    ): "the user's package.module:name, the only code that is loaded",
    ("data/images.py", "np.load"): "with allow_pickle=False",
    ("tables/importers/unpickling.py", "pickle.Unpickler"): "made harmless: nothing but plain data can be asked for",
    ("export/source.py", "exec"): "source that was just written, compared with the network that it was written for",
    ("export/source.py", "compile"): "the same",
    (
        "execution/workers.py",
        "pickle.loads",
    ): "of bytes made in the same line, to see whether an error survives the journey",
    ("testing/proxies.py", "pickle.loads"): "of bytes made in the same line, as workers get the author's proxy",
    ("testing/spaces.py", "pickle.loads"): "the same",
    ("execution/shipping.py", "pickle.loads"): "a job that the search itself has sent to its cluster",
    ("views/pages/watching.py", "http"): "its own server, which listens to this machine alone",
    ("views/pages/watching.py", "http.server"): "the same",
    ("execution/ray.py", "socket"): "whether anybody listens at the address of the cluster that the user names",
    ("spaces/supernets/trace_step.py", "torch.load"): "with weights_only=True, of bytes made by the same process",
    ("execution/memory.py", "ctypes"): "one setting of the C library's memory",
}


def _uses(path: Path) -> Iterator[tuple[str, ast.AST]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Attribute, ast.Name)):
            name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
            if name in DANGEROUS:
                yield name, node
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            yield from ((module, node) for module in modules if module.partition(".")[0] in FOREIGN)
            yield from ((name, node) for name in names if name in DANGEROUS - {"importlib.import_module"})


def test_nothing_dangerous_is_used_without_a_reason() -> None:
    found = {(str(path.relative_to(SOURCE)), name) for path in SOURCE.rglob("*.py") for name, _ in _uses(path)}
    assert found - ALLOWED.keys() == set()
    assert ALLOWED.keys() - found == set(), "reasons for what is no longer there"


def test_files_are_loaded_without_pickles() -> None:
    asked = {"np.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}
    calls = [(name, node) for path in SOURCE.rglob("*.py") for name, node in _uses(path) if isinstance(node, ast.Call)]
    loads = [(asked[name], node) for name, node in calls if name in asked]
    assert len(loads) >= 3
    for (keyword, value), node in loads:
        assert isinstance(node, ast.Call)
        given = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
        assert given.get(keyword) is value, ast.unparse(node)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for another machine fails."""

    def refuse(*arguments: Any, **others: Any) -> Any:
        raise AssertionError(f"asked the network for {arguments[-1]!r}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("offline")
def test_a_search_its_report_its_plot_and_its_export_need_no_network(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    firstlight("search", "nasbench201", "--samples", "3", "--workers", "0", "--proxy", "params", "--out", run, *SMALL)
    firstlight("report", run)
    firstlight("plot", "front", run, "-o", str(tmp_path / "front.svg"))
    firstlight("export", run, "-o", str(tmp_path / "out"), "--format", "json,source,safetensors")
    assert (tmp_path / "out" / "network.py").is_file()
    with pytest.raises(AssertionError, match="asked the network"):
        socket.create_connection(("firstlight.invalid", 80))


def test_a_report_of_someone_elses_run_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('code of a stranger was run')")
    monkeypatch.syspath_prepend(tmp_path)
    with Store(tmp_path / STORE_NAME) as store:
        run = store.begin_run({"space": "planted:space", "proxy": "planted:proxy", "algorithm": "random"}, "1.0", 0)
        store.add_trial(run, Trial("a", Cost(1, 1), 0.5, 1.0))
    assert "planted:space" in write_report(tmp_path).read_text(encoding="utf-8")
