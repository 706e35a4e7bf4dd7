"""docs/cli.md tells of every command, option, exit code and field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer

from keptstep.ops.cli import app
from keptstep.ops.exits import MEANINGS, ExitCode
from tests.ops.conftest import ROOT, Command

PAGE = (ROOT / "docs" / "cli.md").read_text()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_told(name: str) -> None:
    assert f"keptstep {name}" in PAGE
    options = {word for each in COMMANDS[name].params for word in each.opts if word[0] == "-"}
    assert {option for option in options if f"`{option}" not in PAGE} == set()


def test_every_exit_code_is_told() -> None:
    page = PAGE[PAGE.index("## Exit codes") : PAGE.index("## Commands")]
    codes = {number.strip() for line in page.splitlines() for number in line[1:].split("|")[:1]}
    told = {int(one) for each in codes for one in each.split(",") if one.strip().isdigit()}
    assert told == set(map(int, ExitCode))
    assert set(MEANINGS) <= set(ExitCode)


def test_every_field_is_told(inside: Command, ended: Callable[..., str]) -> None:
    task = ended("demo.fail", text="boom")
    shown = inside("show", task, "--json").document
    (event, *_) = inside("events", task, "--json").document
    explained = [inside("explain", which, "--json").document for which in (task, f"{task}/fail")]
    read = inside("read", f"{task}/first", "--json").document
    fields = {*shown, *shown["steps"][0], *event, *read, *explained[1]["attempts"][0]}
    for document in explained:
        fields |= set(document)
    assert {field for field in fields if f"`{field}`" not in PAGE} == set()
