"""What the README shows is run: its Python, its commands, its links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_the_ten_lines_of_python_run_and_say_the_same_when_run_again(tmp_path: Path) -> None:
    (example,) = blocks("python")
    (tmp_path / "example.py").write_text(example)
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "example.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert (ended.returncode, ended.stdout) == (0, "3\n"), ended.stderr


@pytest.mark.slow
def test_every_command_shown_exists() -> None:
    shown = set(re.findall(r"^keptstep (\w+)", "\n".join(blocks("sh")), re.MULTILINE))
    assert shown >= {"research", "resume", "show", "explain"}
    for command in sorted(shown):
        ended = subprocess.run(
            [sys.executable, "-m", "keptstep", command, "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (command, ended.stderr)


def test_the_two_commands_stand_alone_in_a_block_of_their_own() -> None:
    first = blocks("sh")[0].split("\n")
    assert [line.split("#")[0].strip() for line in first if line] == ["make demo", "make test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_setting_is_described_with_its_default() -> None:
    from dataclasses import fields

    from keptstep import Settings

    described = (ROOT / "docs" / "architecture.md").read_text()
    for field in fields(Settings):
        assert f"_{field.name.upper()}`" in described, field.name
