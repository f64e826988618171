"""The server of a live page: this machine only, one page and no file, an answer only if something is new."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.cli.command import firstlight
from tests.views.pages.pages import trials

from firstlight.core.errors import SettingError
from firstlight.storage.store import STORE_NAME, Store
from firstlight.views.pages.watching import LOOPBACK, Watch

SETTINGS = {"space": "nasbench201", "proxy": "dextr", "algorithm": "random"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Watch]:
    with Watch(tmp_path) as opened:
        threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield opened
        opened.shutdown()


def ask(server: Watch, path: str = "/", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection(LOOPBACK, server.server_port, timeout=60)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_a_page_is_sent_again_only_when_the_run_has_gone_on(server: Watch, tmp_path: Path) -> None:
    first, text = ask(server)
    assert "Waiting for a run" in text
    assert ask(server, If_None_Match=first.headers["ETag"])[0].status == 304
    with Store(tmp_path / STORE_NAME) as store:
        run = store.begin_run(SETTINGS, "0.1.0", 0)
        second, text = ask(server, If_None_Match=first.headers["ETag"])
        assert "No network has a score yet" in text
        store.add_trial(run, trials(3)[0])
        third, text = ask(server, If_None_Match=second.headers["ETag"])
        assert "One network so far: Dextr" in text
        assert f'data-live="{third.headers["ETag"]}"' in text
        assert ask(server, If_None_Match=third.headers["ETag"])[0].status == 304
        store.finish_run(run, {"best": {"architecture": trials(3)[0].architecture}})
    assert "One network: Dextr" in ask(server, If_None_Match=third.headers["ETag"])[1]


def test_other_runs_have_their_page_when_they_end(server: Watch, tmp_path: Path) -> None:
    Store(tmp_path / STORE_NAME).close()
    assert "Nothing has been scored yet" in ask(server)[1]
    (tmp_path / "report.html").write_text("<h1>done</h1>")
    answer, text = ask(server)
    assert text == "<h1>done</h1>"
    assert "script-src 'sha256-" in answer.headers["Content-Security-Policy"]


def test_no_file_of_the_folder_is_handed_out(server: Watch, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}")
    for path in ("/result.json", "/store.sqlite", "/../", "/index.html", "/?x", "/%2e%2e/result.json"):
        assert ask(server, path)[0].status == 404, path


def test_only_browsers_of_this_machine_are_answered(server: Watch) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, Host=f"localhost:{server.server_port}")[0].status == 200
    answer, text = ask(server, Host="attacker.example")
    assert answer.status == 403
    assert "Waiting" not in text


def test_a_damaged_store_is_said_to_be_one(server: Watch, tmp_path: Path) -> None:
    (tmp_path / STORE_NAME).write_text("no database, whatever its name says" * 100)
    answer, text = ask(server)
    assert answer.status == 500
    assert "cannot be used" in text


def test_a_port_that_is_taken(server: Watch, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="Leave out --port"):
        Watch(tmp_path, server.server_port)


@pytest.mark.usefixtures("interruptible")
def test_the_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]

    def look_and_interrupt() -> None:
        for _ in range(600):
            try:
                connection = HTTPConnection(LOOPBACK, port, timeout=60)
                connection.request("GET", "/")
                seen.append(connection.getresponse().read().decode())
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    seen: list[str] = []
    threading.Thread(target=look_and_interrupt, daemon=True).start()
    with patch("webbrowser.open") as opened:
        done = firstlight("watch", str(tmp_path / "later"), "--port", str(port), "--open")
    opened.assert_called_once_with(f"http://127.0.0.1:{port}/")
    assert f"at http://127.0.0.1:{port}/" in done.stdout
    assert "Stopped" in done.stdout
    assert "Waiting for a run" in seen[0]
    assert not (tmp_path / "later").exists()


def test_a_report_can_be_opened_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / STORE_NAME) as store:
        store.add_trial(store.begin_run(SETTINGS, "0.1.0", 0), trials(3)[0])
    with patch("webbrowser.open") as opened:
        done = firstlight("report", str(tmp_path), "--open", "--json")
    assert json.loads(done.stdout) == {"report": str(tmp_path / "report.html")}
    opened.assert_called_once_with((tmp_path / "report.html").as_uri())


def test_the_report_that_another_command_wrote_is_found(tmp_path: Path) -> None:
    Store(tmp_path / STORE_NAME).close()
    (tmp_path / "report.html").write_text("theirs")
    firstlight("report", str(tmp_path))
    assert (tmp_path / "report.html").read_text() == "theirs"
