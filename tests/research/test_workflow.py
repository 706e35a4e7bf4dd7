"""Research as a durable task: the steps it makes, what fails alone, what a restart keeps."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keptstep import App, Settings, TaskFailed
from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.errors import BadInput, StepFailed
from keptstep.models.ids import TaskId
from keptstep.models.records import Step
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.workers.research import check_sources, find, notes, read, report
from keptstep.workflows.research import reason_of, research
from keptstep.workflows.run import Run

QUESTION = "How long does a heron wait?"


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return Settings.load(tmp_path / "home", {}, sweep=0.05, workers=4, grace=2.0)


@pytest.fixture
def app(home: Settings) -> Iterator[App]:
    with App.open(settings=home) as opened:
        yield opened


@pytest.fixture
def pond(tmp_path: Path) -> Path:
    folder = tmp_path / "pond"
    folder.mkdir()
    for number in range(6):
        (folder / f"heron{number}.txt").write_text(f"Heron {number} waits {number + 2} minutes.")
    return folder


def steps_of(app: App, task_id: TaskId) -> dict[str, Step]:
    return {step.name: step for step in app.store.steps(task_id)}


def test_a_question_and_a_folder_become_a_report(app: App, pond: Path) -> None:
    handle = app.submit(research, question=QUESTION, sources=check_sources([str(pond)]))
    result = handle.result(timeout=30)
    assert result.value.startswith(f"# {QUESTION}\n")
    assert result.ref.artifact_class is ArtifactClass.RENDER
    names = [f"{kind}:{number:04d}" for number in range(6) for kind in ("note", "read")]
    assert sorted(steps_of(app, handle.id)) == sorted([*names, "find", "report"])


def test_a_source_that_fails_fails_alone_and_is_told_of(app: App, pond: Path) -> None:
    (pond / "blank.html").write_text("<script>only a program</script>")
    handle = app.submit(research, question=QUESTION, sources=[str(pond)])
    text = handle.result(timeout=30).value
    assert f"- `{pond}/blank.html`: holds no text" in text
    steps = steps_of(app, handle.id)
    assert steps["read:0000"].status is StepStatus.FAILED
    assert "note:0000" not in steps
    assert handle.task().status is TaskStatus.DONE


def test_a_task_kept_by_one_app_is_worked_on_by_the_next(home: Settings, pond: Path) -> None:
    first = App.open(settings=home)
    handle = first.submit(research, question=QUESTION, sources=[str(pond)])
    first.close()
    with App.open(settings=home) as second:
        assert "7 minutes" in second.handle(handle.id).result(timeout=30).value


def test_the_report_is_derived_from_notes_and_they_from_pages(app: App, pond: Path) -> None:
    handle = app.submit(research, question=QUESTION, sources=[str(pond)])
    report_ref = handle.result(timeout=30).ref
    steps = steps_of(app, handle.id)
    note = steps["note:0003"].artifact_id
    assert note is not None
    assert note in app.store.sources(report_ref.id)
    assert steps["read:0003"].artifact_id in app.store.sources(note)


def test_sources_without_readable_text_fail_the_task_with_a_clear_line(
    app: App, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(100))
    handle = app.submit(research, question=QUESTION, sources=[str(tmp_path / "a.bin")])
    with pytest.raises(TaskFailed):
        handle.result(timeout=30)


def test_an_empty_question_fails_the_task_without_a_step(app: App, pond: Path) -> None:
    handle = app.submit(research, question="  ", sources=[str(pond)])
    with pytest.raises(TaskFailed):
        handle.result(timeout=30)
    assert app.store.steps(handle.id) == []


def test_no_text_of_a_source_and_no_path_but_the_asked_one_is_in_a_row(
    app: App, pond: Path, home: Settings
) -> None:
    (pond / "secret-name.txt").write_text("The heron waits, and the marker is zanzibar.")
    handle = app.submit(research, question=QUESTION, sources=[str(pond)])
    assert "zanzibar" in handle.result(timeout=30).value
    for file in home.home.glob("keptstep.db*"):
        assert b"zanzibar" not in file.read_bytes()
        assert b"secret-name" not in file.read_bytes()


@pytest.mark.parametrize("tool", [find, read, notes, report])
def test_no_research_step_changes_the_world(tool: Any) -> None:
    assert tool.effect is Effect.NONE


def test_each_kind_of_step_has_the_class_its_output_deserves() -> None:
    classes = [tool.artifact_class for tool in (find, read, notes, report)]
    assert classes == [
        ArtifactClass.IDEMPOTENT_FETCH,
        ArtifactClass.IDEMPOTENT_FETCH,
        ArtifactClass.SNAPSHOT,
        ArtifactClass.RENDER,
    ]


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("Traceback ...\nkeptstep.models.errors.Permanent: /a.txt is gone", "/a.txt is gone"),
        ("Traceback ...\nOSError: [Errno 5] /a.txt failed\n", "[Errno 5] /a.txt failed (OSError)"),
        ("it timed out", "it timed out"),
        ("", "the call timed out"),
    ],
)
def test_a_reader_is_told_the_last_line_of_a_failure(detail: str, reason: str) -> None:
    assert reason_of(StepFailed("read:0000", "the call timed out", lambda: detail)) == reason


def test_a_bad_question_is_refused_before_any_step_is_asked_for() -> None:
    class Nothing:
        task_id = TaskId(os.urandom(16))

        async def request(self, name: str, tool: object, inputs: dict[str, object]) -> Any:
            raise AssertionError(f"step {name} was asked for")

    with pytest.raises(BadInput):
        asyncio.run(research(Run(Nothing()), "", ["/x"]))
