"""The user's hook, as a command and as an address: what it is given, and how it may fail."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from keptstep import BadInput, Settings
from keptstep.workers import notifier
from keptstep.workers.hooks import CommandHook, Hook, NotDelivered, WebHook, hook_of
from tests.notify.server import code, receiving

DOCUMENT = json.dumps({"id": "ab", "reason": "Gr\u00fc\u00dfe; $(reboot) `x`"})
HIDDEN = "s3cret"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach the loopback itself, whatever this machine's environment says."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def python(script: str, *words: object) -> list[str]:
    return [sys.executable, "-c", script, *map(str, words)]


def failure(hook: Hook) -> str:
    with pytest.raises(NotDelivered) as error:
        hook.deliver(DOCUMENT)
    assert HIDDEN not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


# -- settings -------------------------------------------------------------------------------------
def load(tmp_path: Path, **given: str) -> Settings:
    environ = {f"KEPTSTEP_NOTIFY_{name.upper()}": value for name, value in given.items()}
    return Settings.load(tmp_path, environ)


def test_without_a_setting_there_is_no_hook(tmp_path: Path) -> None:
    assert hook_of(load(tmp_path)) is None


def test_the_settings_do_not_show_command_and_address(tmp_path: Path) -> None:
    for given in ({"command": f"tell {HIDDEN}"}, {"url": f"https://x.example/{HIDDEN}"}):
        settings = load(tmp_path, **given)
        assert HIDDEN not in f"{settings!r} {settings}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": f"tell '{HIDDEN}"}, "NOTIFY_COMMAND cannot be split into words: no closing"),
        ({"command": f"tell {HIDDEN}\\"}, "NOTIFY_COMMAND cannot be split into words: no escaped"),
        ({"command": "  "}, "names no program"),
        ({"command": "''"}, "names no program"),
        ({"url": f"file:///{HIDDEN}"}, "NOTIFY_URL must be an address"),
        ({"url": f"ftp://{HIDDEN}@x.example"}, "NOTIFY_URL must be an address"),
        ({"url": f"https:///{HIDDEN}"}, "NOTIFY_URL must be an address"),
        ({"url": HIDDEN}, "NOTIFY_URL must be an address"),
        ({"url": f"https://{HIDDEN}", "command": "tell"}, "are both set: keep one"),
    ],
)
def test_what_cannot_be_called_is_refused_without_being_quoted(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    with pytest.raises(BadInput, match=said) as error:
        load(tmp_path, **given)
    assert HIDDEN not in str(error.value)


# -- a command ------------------------------------------------------------------------------------
def test_a_command_reads_the_document_and_is_run_by_no_shell(tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[1], 'w').write(repr((sys.argv[2:], sys.stdin.read())))"
    words = [*python(script, tmp_path / "got"), "a b", "; touch pwned", "$HOME"]
    hook = hook_of(load(tmp_path, command=shlex.join(words)))
    assert hook is not None
    hook.deliver(DOCUMENT)
    assert (tmp_path / "got").read_text() == repr((words[4:], DOCUMENT))


def test_a_command_may_ignore_its_stdin_and_print_much() -> None:
    CommandHook(python("print('x' * 1_000_000)")).deliver(DOCUMENT * 10_000)


def test_a_command_may_leave_something_running(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.Popen(['sleep', '2'])"
    CommandHook(python(script), timeout=30).deliver(DOCUMENT)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys; sys.exit(3)", "the command ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 15)", "the command was killed by SIGTERM"),
        (f"raise SystemExit('{HIDDEN}')", "the command ended with exit code 1"),
    ],
)
def test_a_command_that_fails_is_told_by_its_end(script: str, said: str) -> None:
    assert failure(CommandHook([*python(script), HIDDEN])) == said


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = failure(CommandHook([str(tmp_path / HIDDEN)]))
    assert said == "the command could not be started (No such file or directory)"


def test_a_command_that_hangs_is_cut_with_all_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = """
import subprocess, sys
with open(sys.argv[1], "w") as pipe:
    subprocess.Popen(["sleep", "1000"], stdout=pipe).wait()
"""
    said = failure(CommandHook(python(script, pipe), timeout=1.0))
    assert said == "it took longer than 1 s: cut"
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # nobody holds the other end any more
    os.close(reader)


def test_a_call_is_cut_when_the_worker_stops(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    hook = CommandHook(python("import sys, time; open(sys.argv[1], 'w'); time.sleep(1000)", pipe))

    def close() -> None:
        with pipe.open():  # waits for the command to be there
            hook.close()

    closing = threading.Thread(target=close)
    closing.start()
    assert failure(hook).startswith("the command was killed by SIGKILL")
    closing.join()
    # One that was about to begin is cut as well.
    assert failure(hook).startswith("the command was killed by SIGKILL")


# -- an address -----------------------------------------------------------------------------------
def test_the_document_is_posted_as_json() -> None:
    with receiving(code(204)) as receiver:
        WebHook(receiver.url("/hook?room=5")).deliver(DOCUMENT)
    ((path, headers, body),) = receiver.received
    assert (path, body.decode()) == ("/hook?room=5", DOCUMENT)
    assert (headers["Content-Type"], headers["User-Agent"]) == ("application/json", "keptstep")
    assert headers["Authorization"] is None


def test_name_and_password_of_an_address_are_sent_as_a_header() -> None:
    with receiving(code(200)) as receiver:
        WebHook(receiver.url(login="me:p%40ss@")).deliver(DOCUMENT)
    ((_, headers, _),) = receiver.received
    assert headers["Authorization"] == "Basic bWU6cEBzcw=="  # me:p@ss
    assert "@" not in headers["Host"]


def test_the_address_is_no_argument_that_others_could_read() -> None:
    assert HIDDEN not in str(WebHook(f"https://x.example/{HIDDEN}")._command)


@pytest.mark.parametrize("number", [400, 404, 500, 503])
def test_an_answer_that_is_no_success_is_a_failure(number: int) -> None:
    with receiving(code(number)) as receiver:
        assert (
            failure(WebHook(receiver.url(f"/{HIDDEN}"))) == f"the address answered with {number}"
        )


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(number: int) -> None:
    with (
        receiving(code(200)) as other,
        receiving(code(number, Location=other.url(f"/{HIDDEN}"))) as receiver,
    ):
        said = failure(WebHook(receiver.url()))
    assert said == f"the address answered with {number}: a redirect, and none is followed"
    assert other.received == []


def test_a_redirect_to_a_file_is_not_followed(tmp_path: Path) -> None:
    with receiving(code(302, Location=f"file://{tmp_path}")) as receiver:
        assert "a redirect" in failure(WebHook(receiver.url()))


def test_an_address_where_nobody_listens_is_told() -> None:
    with receiving(code(200)) as receiver:
        url = receiver.url(f"/{HIDDEN}", login=f"{HIDDEN}@")
    assert failure(WebHook(url)) == "the address could not be reached (Connection refused)"


def test_what_answers_no_http_is_told_without_its_words() -> None:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.wfile.write(f"{HIDDEN}\r\n\r\n".encode())

    with receiving(answer) as receiver:
        assert failure(WebHook(receiver.url())) == (
            "the address could not be posted to (BadStatusLine)"
        )


def test_a_receiver_that_drips_its_answer_is_cut() -> None:
    """Each byte comes in time, the whole never does."""
    over = threading.Event()

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not over.wait(0.01):
            try:
                to.wfile.write(b".")
            except OSError:
                over.set()

    with receiving(answer) as receiver:
        said = failure(WebHook(receiver.url(), timeout=2.0))
        over.set()
    assert said == "it took longer than 2 s: cut"


def test_the_body_of_an_answer_is_not_read() -> None:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(1 << 40))
        to.end_headers()
        to.wfile.write(b"x" * 1000)

    with receiving(answer) as receiver:
        WebHook(receiver.url()).deliver(DOCUMENT)


# -- trying it ------------------------------------------------------------------------------------
def test_a_hook_can_be_tried(tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    command = shlex.join(python(script, tmp_path / "got"))
    notifier.test_notice(load(tmp_path, command=command))
    told = json.loads((tmp_path / "got").read_text())
    assert (told["kind"], told["task_id"], told["home"]) == ("test", None, str(tmp_path))
    assert len(told["id"]) == 32


def test_trying_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no hook is set"):
        notifier.test_notice(load(tmp_path))
    with pytest.raises(NotDelivered, match="exit code 1"):
        notifier.test_notice(load(tmp_path, command="false"))
