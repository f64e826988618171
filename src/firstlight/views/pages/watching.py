"""The page of a run while it is running, for browsers on this machine only.

The server has one page and no files. The page asks for itself every few seconds, with the state that it shows, and gets
an answer only if the state has changed.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from firstlight.core.errors import FirstlightError, SettingError
from firstlight.search.run_folder import store_of_run
from firstlight.storage.store import Store
from firstlight.views.pages.search import PAGE_NAME, last_run_page
from firstlight.views.pages.template import policy, render_page

LOOPBACK = "127.0.0.1"


class Watch(ThreadingHTTPServer):
    """A server for the page of the run in `directory`, which may not have begun. Port 0 takes any free port."""

    daemon_threads = True

    def __init__(self, directory: Path, port: int = 0) -> None:
        self.directory = directory
        try:
            super().__init__((LOOPBACK, port), _Answer)
        except OSError as error:
            raise SettingError(
                f"Port {port} cannot be used: {error.strerror or error}. Leave out --port to use any free port."
            ) from error

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def page(self, known: str) -> tuple[str, str | None]:
        """Return the current state, and its page unless the state is `known`."""
        path = store_of_run(self.directory)
        if not path.is_file():
            state = _digest("nothing yet")
            return state, None if state == known else self._waiting(state, 0, 0)
        with Store(path) as store:
            activity = store.activity()
            written = self._written()
            state = _digest(*activity, "" if written is None else written.stat().st_mtime_ns)
            if state == known:
                return state, None
            page = last_run_page(store, self.directory, live=state)
        if page is None and written is not None:
            page = written.read_text(encoding="utf-8")  # a command without a live page
        return state, page or self._waiting(state, int(activity[-2]), int(activity[-1]))

    def _written(self) -> Path | None:
        path = self.directory / PAGE_NAME
        return path if path.is_file() else None

    def _waiting(self, state: str, scores: int, trainings: int) -> str:
        return render_page("waiting.html", live=state, folder=self.directory, scores=scores, trainings=trainings)


class _Answer(BaseHTTPRequestHandler):
    server: Watch

    def do_GET(self) -> None:
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}:
            # DNS rebinding: another site whose name leads to this machine
            self._send(HTTPStatus.FORBIDDEN, "This page is for browsers on this machine.")
        elif self.path != "/":
            self._send(HTTPStatus.NOT_FOUND, "The only page here is /")
        else:
            self._send_page()

    def _send_page(self) -> None:
        try:
            state, page = self.server.page(self.headers.get("If-None-Match", ""))
        except FirstlightError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            return
        if page is None:
            self._send(HTTPStatus.NOT_MODIFIED, "", state)
        else:
            self._send(HTTPStatus.OK, page, state, "text/html")

    def _send(self, status: HTTPStatus, text: str, state: str = "", kind: str = "text/plain") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy(live=True))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        if state:
            self.send_header("ETag", state)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the page asks every few seconds."""


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
