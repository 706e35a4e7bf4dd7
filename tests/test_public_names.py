"""The public names: each loads, and type checkers see the same ones."""

import ast
from pathlib import Path

import pytest

import keptstep

EXPORTS: dict[str, str] = keptstep._EXPORTS


def _names_for_type_checkers() -> dict[str, str]:
    tree = ast.parse(Path(keptstep.__file__).read_text())
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {
        alias.asname or alias.name: f"{node.module}"
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_public_name_loads() -> None:
    for name in keptstep.__all__:
        assert getattr(keptstep, name) is not None


def test_type_checkers_see_the_public_names_that_load() -> None:
    assert _names_for_type_checkers() == EXPORTS


def test_dir_lists_the_public_names() -> None:
    assert dir(keptstep) == sorted({"__version__", *EXPORTS})


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_ours'"):
        keptstep.nothing_of_ours  # noqa: B018 - the look-up is what is tested
