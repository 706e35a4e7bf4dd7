"""Source code is cut where its definitions begin, and each piece says what it belongs to."""

from tests.research.helpers import cut

PYTHON = '''\
# Licence of the example.
# Two lines of it.

import os
import sys

LIMIT = 3


@cached
def first(a):
    """Says what it does.

    In two paragraphs.
    """
    return a


# Why there is a class.
class Second(Base):
    """Holds something."""

    size = 1

    def method(self, x):
        return x

    async def other(
        self,
    ):
        return 2


print(first(1))
'''


def by_context(text: str) -> dict[str, str]:
    return {p.context: p.text for p in cut(text.encode(), "text/x-source")}


def test_a_function_is_one_passage_with_its_decorator_and_docstring() -> None:
    passage = by_context(PYTHON)["def first(a)"]
    assert passage.startswith("@cached\ndef first(a):\n")
    assert passage.endswith("    return a")


def test_a_comment_above_a_definition_goes_with_it() -> None:
    assert by_context(PYTHON)["class Second(Base)"].startswith("# Why there is a class.\nclass")


def test_a_method_knows_its_class() -> None:
    found = by_context(PYTHON)
    assert found["class Second(Base) > def method(self, x)"].endswith("return x")
    assert "class Second(Base) > async def other" in found


def test_code_after_a_class_does_not_belong_to_it() -> None:
    last = cut(PYTHON.encode(), "text/x-source")[-1]
    assert (last.text, last.context) == ("print(first(1))", "")


def test_the_licence_at_the_top_stays_by_itself() -> None:
    first, second = cut(PYTHON.encode(), "text/x-source")[:2]
    assert first.text == "# Licence of the example.\n# Two lines of it."
    assert second.text.startswith("import os")


def test_a_passage_keeps_the_indentation_of_its_first_line() -> None:
    assert by_context(PYTHON)["class Second(Base) > def method(self, x)"].startswith("    def")


def test_other_languages_have_definitions_too() -> None:
    source = (
        "package main\n\nfunc One(a int) int {\n\treturn a\n}\n\n"
        "export default class Two {\n  run() {}\n}\n\n"
        "static int three(int a, char *b)\n{\n    return a;\n}\n\n"
        "pub(crate) fn four() {}\n"
    )
    contexts = [passage.context for passage in cut(source.encode(), "text/x-source")]
    assert contexts == [
        "",
        "func One(a int) int",
        "export default class Two",
        "static int three(int a, char *b)",
        "pub(crate) fn four() {}",
    ]


def test_a_long_function_is_cut_between_lines() -> None:
    body = "\n".join(f"    step_{number} = prepare({number})" for number in range(300))
    found = cut(f"def long():\n{body}\n".encode(), "text/x-source")
    assert len(found) > 2
    assert all(passage.context == "def long()" for passage in found)
    assert "\n".join(passage.text for passage in found) == f"def long():\n{body}"


def test_a_line_of_two_million_characters_is_cut_all_the_same() -> None:
    found = cut(b"var a=[" + b"1234567," * 250_000 + b"];", "text/x-source")
    assert max(len(passage.text) for passage in found) < 3000
