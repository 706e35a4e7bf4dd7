"""ls, show, events and the finding of ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.ops.conftest import Command

Task = Callable[..., str]
HOSTILE = "\x1b[2J\x1b]0;title\x07[bold]x[/bold]\u202etxt\r:smiley:"
SHOWN = "\\x1b[2J\\x1b]0;title\\x07[bold]x[/bold]\\u202etxt\\r:smiley:"


def test_ls_lists_the_newest_first(inside: Command, ended: Task) -> None:
    first, second = ended("demo.say", text="hello"), ended("demo.fail", text="boom")
    lines = inside("ls").out.splitlines()
    assert lines[0].split() == ["ID", "STATUS", "BEGUN", "WORKFLOW", "ABOUT"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [second[-8:], "failed"],
        [first[-8:], "done"],
    ]
    assert lines[2].endswith("demo.say   text=hello")


def test_ls_in_json_is_an_array_with_whole_ids(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    (document,) = inside("ls", "--json").document
    assert (document["id"], document["status"]) == (task, "done")
    assert document["input"] == {"text": "hello"}
    assert document["created_at"].endswith("Z")


def test_ls_limits_and_filters(inside: Command, ended: Task, submitted: Task) -> None:
    ended("demo.say", text="a")
    last = ended("demo.say", text="b")
    assert [task["id"] for task in inside("ls", "-n", "1", "--json").document] == [last]
    assert inside("ls", "--unfinished", "--json").document == []
    assert inside("ls", "--unfinished").err == "no unfinished tasks\n"
    limited = inside("ls", "-n", "1")
    assert "--limit" in limited.err


def test_show_tells_steps_result_and_what_to_do_next(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    shown = inside("show", task[-8:])
    assert (shown.code, shown.err) == (0, "")
    assert f"task {task[-8:]}  done" in shown.out
    assert "text/plain; charset=utf-8, 5 B" in shown.out
    assert "1 step: 1 done" in shown.out
    assert f"keptstep read {task[-8:]}   (the result)" in shown.out


def test_show_tells_why_a_step_failed_and_how_to_go_on(
    inside: Command, ended: Task, step_named: Callable[[str, str], str]
) -> None:
    task = ended("demo.fail", text="no such page")
    shown = inside("show", task).out
    assert "ValueError: no such page" in shown
    assert f"keptstep retry {step_named(task, 'fail')[-8:]} --by NAME --why TEXT" in shown


def test_show_in_json_holds_steps_and_next(inside: Command, ended: Task) -> None:
    task = ended("demo.fail", text="boom")
    document = inside("show", task, "--json").document
    assert (document["id"], document["status"], document["result"]) == (task, "failed", None)
    assert [(step["name"], step["status"]) for step in document["steps"]] == [
        ("first", "done"),
        ("fail", "failed"),
    ]
    assert document["steps"][1]["error"]["kind"] == "ValueError"
    assert any("retry" in command for command in document["next"])


def test_show_hides_the_done_among_many_steps(inside: Command, ended: Task) -> None:
    task = ended("demo.wide", count=45)
    assert "45 more with --all" in inside("show", task).out
    assert len(inside("show", task, "--all").out.splitlines()) > 45
    assert len(inside("show", task, "--json").document["steps"]) == 45


def test_hostile_text_is_inert_everywhere(inside: Command, ended: Task) -> None:
    task = ended("demo.fail", text=HOSTILE)
    for words in (("ls",), ("show", task), ("events", task), ("explain", f"{task}/fail")):
        ran = inside(*words)
        assert ran.code == 0
        assert not set(ran.out + ran.err) & {"\x1b", "\x07", "\u202e", "\r"}
    assert SHOWN in inside("ls").out
    assert f"ValueError: {SHOWN}" in inside("show", task).out


def test_what_an_operator_wrote_is_inert_too(
    inside: Command, ended: Task, step_named: Callable[[str, str], str]
) -> None:
    task = ended("demo.fail", text="boom")
    inside("retry", step_named(task, "fail"), "--by", "me", "--why", HOSTILE)
    out = inside("events", task).out
    assert f"why={SHOWN}" in out
    assert not set(out) & {"\x1b", "\x07", "\u202e", "\r"}


def test_json_is_ascii_whatever_the_text(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text=HOSTILE)
    ran = inside("show", task, "--json")
    assert ran.out.isascii()
    assert set(ran.out) & set(map(chr, range(32))) == {"\n"}
    assert ran.document["input"]["text"] == HOSTILE


def test_events_are_numbered_without_a_gap(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    events = inside("events", task, "--json").document
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "task_submitted"
    assert events[-1]["kind"] == "task_done"
    assert {event["task_id"] for event in events} == {task}
    later = inside("events", task, "--after", "3", "--json").document
    assert later == events[3:]


def test_events_for_people_are_a_line_each(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    count = len(inside("events", task, "--json").document)
    lines = inside("events", task).out.splitlines()
    assert len(lines) == count
    assert lines[0].split()[3] == "task_submitted"
    assert any("tool_result_persisted" in line and "  say" in line for line in lines)


def test_following_a_finished_task_ends(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    assert inside("events", task, "--follow").out == inside("events", task).out
    assert inside("events", task, "--after", "999", "--json").document == []


def test_an_id_may_be_any_unique_beginning_or_end(
    inside: Command, ended: Task, step_named: Callable[[str, str], str]
) -> None:
    task = ended("demo.say", text="hello")
    step = step_named(task, "say")
    for typed in (task, task.upper(), task[-6:], f"{task[:8]}-{task[8:12]}-{task[12:]}"):
        assert inside("show", typed, "--json").document["id"] == task
    assert inside("explain", step[-6:], "--json").document["id"] == step
    assert inside("explain", f"{task[-8:]}/say", "--json").document["id"] == step


def test_an_id_that_fits_several_lists_the_candidates(inside: Command, ended: Task) -> None:
    first, second = ended("demo.say", text="a"), ended("demo.say", text="b")
    ran = inside("show", first[:3])
    assert (ran.code, ran.out) == (3, "")
    assert f"  task {first}\n" in ran.err
    assert f"  task {second}\n" in ran.err
    error = inside("show", first[:3], "--json").error
    assert error["kind"] == "Ambiguous"
    assert {candidate["id"] for candidate in error["candidates"]} == {first, second}


def test_an_id_that_fits_nothing_ends_with_3(inside: Command, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    assert inside("show", "f" * 32).code == 3
    assert inside("explain", f"{task}/nothing").code == 3
    assert inside("show", "xyz").code == 2


def test_hints_repeat_the_home_that_was_named(inside: Command, home: Path, ended: Task) -> None:
    task = ended("demo.say", text="hello")
    shown = inside("show", task, "--home", str(home)).out
    assert f"keptstep read {task[-8:]} --home {home}" in shown
