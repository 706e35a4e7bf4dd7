"""What cannot be taken is refused in a line, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ops.conftest import Command

NOT_UTF8 = b"\xff?".decode("utf-8", "surrogateescape")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a source."""
    path = tmp_path / "notes.md"
    path.write_text("The lease ends after 15 seconds.\n")
    return path


def research(source: object, *words: str) -> tuple[str, ...]:
    return ("research", "How long is the lease?", "--source", str(source), *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("research", "", "--source", "."), "the question is empty"),
        (("research", "  \n", "--source", "."), "the question is empty"),
        (("research", NOT_UTF8, "--source", "."), "no readable text"),
        (("research", "what?"), "no source was given"),
        (("research", "what?", "--source", "not-there.md"), "not-there.md"),
        (("research", "what?", "--source", "*.nothing"), "matches no file"),
        (("research", "what?", "-s", ".", "--brain", "oracle"), "oracle"),
        (("research", "what?", "-s", ".", "--conversation", "12"), "32 hexadecimal digits"),
        (("research", "what?", "-s", ".", "--key", ""), "1 to 200 characters"),
        (("research", "what?", "-s", ".", "--out", "no/such/folder.md"), "there is no folder"),
        (("research", "what?", "-s", ".", "--detach", "--out", "x"), "--detach"),
        (("research", "what?", "-s", ".", "--import", "no_such_module"), "no_such_module"),
        (("resume", "--again"), "need a TASK"),
        (("resume", "ab", "--by", "me"), "belong to --again"),
        (("resume", "ab", "--again", "--by", "me"), "--why needs"),
        (("retry", "ab", "--by", " ", "--why", "x"), "--by needs"),
        (("retry", "ab"), "--by"),
        (("ls", "--limit", "0"), "--limit"),
        (("events", "ab", "--after", "-1"), "--after"),
        (("frobnicate",), "frobnicate"),
        (("ls", "--nonsense"), "--nonsense"),
        (("show",), "TASK"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line(
    inside: Command, home: Path, words: tuple[str, ...], said: str
) -> None:
    ran = inside(*words)
    assert (ran.code, ran.out) == (2, "")
    first, *hints = ran.err.splitlines()
    assert first.startswith("error: ")
    assert said in first
    assert all(hint.startswith("  keptstep") for hint in hints)
    assert not (home / "keptstep.db").exists()


def test_without_a_command_the_help_is_shown(inside: Command) -> None:
    ran = inside()
    assert ran.code == 2
    assert "Exit codes:" in ran.out
    assert "    130  interrupted" in ran.out


def test_a_setting_that_is_no_number_is_named(
    inside: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPTSTEP_WORKERS", "many")
    ran = inside("ls")
    assert (ran.code, "KEPTSTEP_WORKERS" in ran.err) == (2, True)


def test_a_usage_error_in_json_is_one_object_on_stderr(inside: Command) -> None:
    ran = inside("research", "", "--source", ".", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error["kind"] == "BadInput"
    assert ran.error["exit_code"] == 2
    ran = inside("show", "--json")
    assert (ran.code, ran.out, ran.error["kind"]) == (2, "", "Usage")


def test_json_may_stand_before_the_command_and_home_on_both_sides(
    inside: Command, tmp_path: Path
) -> None:
    before = inside("--home", str(tmp_path / "a"), "--json", "ls")
    after = inside("ls", "--home", str(tmp_path / "b"), "--json")
    both = inside("--home", str(tmp_path / "a"), "ls", "--home", str(tmp_path / "b"), "--json")
    assert [ran.code for ran in (before, after, both)] == [3, 3, 3]
    assert str(tmp_path / "a") in before.error["message"]
    assert str(tmp_path / "b") in after.error["message"]
    assert str(tmp_path / "b") in both.error["message"]


def test_a_question_may_look_like_an_option_after_two_dashes(
    inside: Command, tmp_path: Path
) -> None:
    ran = inside("research", "--source", str(tmp_path / "none"), "--", "--json")
    assert ran.code == 2
    assert ran.err.startswith("error: ")


def test_hostile_arguments_are_spelled_out(inside: Command) -> None:
    ran = inside("research", "what?", "--source", ".", "--brain", "\x1b]0;title\x07")
    assert ran.code == 2
    assert "\x1b" not in ran.err
    assert "\\x1b]0;title\\x07" in ran.err


def test_a_module_that_does_not_load_is_told_in_one_line(
    inside: Command, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_tools.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    ran = inside(*research(notes, "--import", "broken_tools"))
    assert (ran.code, ran.out) == (2, "")
    assert "broken_tools could not be loaded (ZeroDivisionError)" in ran.err


def test_an_output_that_exists_is_refused_before_the_work(inside: Command, notes: Path) -> None:
    ran = inside(*research(notes, "--out", str(notes)))
    assert (ran.code, "--force" in ran.err) == (2, True)
    assert notes.read_text().startswith("The lease")
