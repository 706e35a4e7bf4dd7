"""Tools, workflows and the registry they are found in by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tenacity import wait_fixed

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.errors import BadInput, NotFound
from keptstep.workflows.definition import (
    Context,
    Registry,
    Signature,
    result_type,
    tool,
    wants_result,
    workflow,
)
from keptstep.workflows.retry import RetryPolicy
from keptstep.workflows.values import Result

if TYPE_CHECKING:
    from decimal import Decimal


@pytest.fixture
def registry() -> Registry:
    return Registry()


class TestTool:
    def test_what_is_not_declared_is_taken_at_its_worst(self, registry: Registry) -> None:
        @tool(registry=registry)
        def send(text: str) -> None: ...

        assert send.effect is Effect.SIDE_EFFECT
        assert send.artifact_class is ArtifactClass.SNAPSHOT
        assert (send.name, send.deadline, send.max_result) == ("send", 1800.0, None)
        assert send.retry.attempts == 3

    def test_what_is_declared_is_kept(self, registry: Registry) -> None:
        policy = RetryPolicy(attempts=7, wait=wait_fixed(1))

        @tool(
            name="web.fetch",
            artifact_class=2,
            effect="none",
            deadline=30,
            retry=policy,
            max_result=1000,
            registry=registry,
        )
        def fetch(url: str) -> bytes:
            return url.encode()

        assert (fetch.name, fetch.effect) == ("web.fetch", Effect.NONE)
        assert fetch.artifact_class is ArtifactClass.IDEMPOTENT_FETCH
        assert (fetch.deadline, fetch.max_result) == (30.0, 1000)
        assert fetch.retry is policy

    def test_a_number_of_attempts_is_a_policy(self, registry: Registry) -> None:
        made = tool(retry=5, registry=registry)(_plain)
        assert made.retry.attempts == 5

    def test_a_tool_is_called_like_the_function_it_is(self, registry: Registry) -> None:
        made = tool(registry=registry)(_plain)
        assert made(2, b=3) == 5

    async def _answer(self) -> int:
        return 1

    def test_a_tool_may_be_async(self, registry: Registry) -> None:
        assert tool(name="answer", registry=registry)(self._answer).is_async
        assert not tool(registry=registry)(_plain).is_async

    @pytest.mark.parametrize("unknown", [{"effect": "perhaps"}, {"artifact_class": 9}], ids=repr)
    def test_an_unknown_effect_or_class_is_refused(
        self, registry: Registry, unknown: dict[str, Any]
    ) -> None:
        with pytest.raises((BadInput, ValueError), match=r"9 is not|'perhaps' is not"):
            tool(registry=registry, **unknown)(_plain)

    @pytest.mark.parametrize("name", ["a b", "a/b", "é", "a\n", "x" * 129, "<lambda>"], ids=ascii)
    def test_a_name_must_fit_the_pattern(self, registry: Registry, name: str) -> None:
        with pytest.raises(BadInput, match="cannot be a name"):
            tool(name=name, registry=registry)(_plain)
        assert registry.tools == {}


class TestWorkflow:
    def test_a_workflow_is_an_async_function(self, registry: Registry) -> None:
        with pytest.raises(BadInput, match="not async"):
            workflow(registry=registry)(_plain)

    def test_its_first_parameter_is_the_run(self, registry: Registry) -> None:
        @workflow(registry=registry, attempts=5)
        async def research(run: Any, question: str, depth: int = 1) -> str:
            return question

        assert (research.name, research.attempts) == ("research", 5)
        assert research.signature.names == ("question", "depth")
        assert registry.workflow("research") is research


class TestRegistry:
    def test_a_tool_and_a_workflow_may_share_a_name(self, registry: Registry) -> None:
        async def both(run: Any) -> None: ...

        made = tool(name="both", registry=registry)(_plain)
        flow = workflow(name="both", registry=registry)(both)
        assert (registry.tool("both"), registry.workflow("both")) == (made, flow)

    def test_one_name_never_means_two_functions(self, registry: Registry) -> None:
        made = tool(name="plain", registry=registry)(_plain)
        with pytest.raises(BadInput, match="two functions are named plain"):
            tool(name="plain", registry=registry)(_other)
        assert registry.tool("plain") is made

    def test_a_module_loaded_again_replaces_its_own(self, registry: Registry) -> None:
        tool(name="plain", registry=registry)(_plain)
        again = tool(name="plain", registry=registry, deadline=5)(_plain)
        assert registry.tool("plain") is again

    def test_what_is_not_known_is_not_found(self, registry: Registry) -> None:
        with pytest.raises(NotFound, match="no tool fetch"):
            registry.tool("fetch")
        with pytest.raises(NotFound, match="no workflow fetch"):
            registry.workflow("fetch")


class TestSignature:
    def test_inputs_that_fit_pass(self) -> None:
        signature = Signature.of(_plain)
        signature.check("plain", {"a": 1})
        signature.check("plain", {"a": 1, "b": 2})

    def test_an_unknown_input_is_refused_by_name(self) -> None:
        with pytest.raises(BadInput, match="plain has no parameter c, d"):
            Signature.of(_plain).check("plain", {"a": 1, "d": 1, "c": 2})

    def test_a_missing_input_is_refused_by_name(self) -> None:
        with pytest.raises(BadInput, match="plain needs a"):
            Signature.of(_plain).check("plain", {"b": 1})

    def test_a_function_that_takes_anything_takes_anything(self) -> None:
        def open_ended(a: int, **more: Any) -> None: ...

        signature = Signature.of(open_ended)
        signature.check("it", {"a": 1, "b": 2})
        with pytest.raises(BadInput):
            signature.check("it", {"b": 2})

    def test_the_context_is_no_input(self) -> None:
        def fetch(url: str, context: Context) -> bytes:
            return url.encode()

        signature = Signature.of(fetch)
        assert signature.context == "context"
        assert signature.names == ("url",)
        signature.check("fetch", {"url": "u"})
        with pytest.raises(BadInput, match="no parameter context"):
            signature.check("fetch", {"url": "u", "context": 1})

    def test_the_types_are_read_from_the_annotations(self) -> None:
        def note(page: Result[str], words: list[int], free: Any = None) -> dict[str, int]:
            return {}

        signature = Signature.of(note)
        assert signature.types == {"page": Result[str], "words": list[int], "free": Any}
        assert signature.returns == dict[str, int]
        assert signature.required == {"page", "words"}

    def test_annotations_that_only_checkers_can_read_are_left_out(self) -> None:
        def price(amount: Decimal) -> Decimal:
            return amount

        signature = Signature.of(price)
        assert (signature.names, dict(signature.types), signature.returns) == (
            ("amount",),
            {},
            None,
        )


def test_a_parameter_that_wants_a_result_is_told_from_one_that_wants_its_value() -> None:
    assert wants_result(Result)
    assert wants_result(Result[int])
    assert not wants_result(int)
    assert not wants_result(list[int])
    assert (result_type(Result[int]), result_type(Result), result_type(int)) == (int, None, int)


def _plain(a: int, b: int = 1) -> int:
    return a + b


def _other(a: int) -> int:
    return a
