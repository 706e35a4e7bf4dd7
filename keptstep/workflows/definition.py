"""What an author writes: tools, workflows, and the registry a worker finds them in by name."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, get_args, get_origin, overload

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.errors import BadInput, NotFound
from keptstep.models.ids import StepId, TaskId
from keptstep.workflows.retry import RetryPolicy
from keptstep.workflows.values import Result

P = ParamSpec("P")
R = TypeVar("R")

NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
DEFAULT_DEADLINE = 1800.0
LONGEST_DEADLINE = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a tool may know about its own call: ask for it with a parameter of this type."""

    task_id: TaskId
    step_id: StepId
    step_name: str
    attempt: int  #: from 1
    idempotency_key: str  #: the same for every attempt of the step: give it to a provider
    deadline: float  #: seconds this attempt may take


@dataclass(frozen=True)
class Signature:
    """The parameters of an author's function, read once."""

    names: tuple[str, ...]
    required: frozenset[str]
    open_ended: bool  #: takes ``**anything``
    types: Mapping[str, Any]
    context: str | None  #: the parameter that wants a ``Context``
    returns: Any

    @classmethod
    def of(cls, function: Callable[..., Any], skip: int = 0) -> Signature:
        """Read a function's parameters, leaving out the first ``skip``."""
        hints = _hints(function)
        parameters = list(inspect.signature(function).parameters.values())[skip:]
        context = next((p.name for p in parameters if hints.get(p.name) is Context), None)
        plain = [p for p in parameters if p.name != context]
        named = [p for p in plain if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        return cls(
            names=tuple(p.name for p in named),
            required=frozenset(p.name for p in named if p.default is p.empty),
            open_ended=any(p.kind is p.VAR_KEYWORD for p in plain),
            types={p.name: hints[p.name] for p in named if p.name in hints},
            context=context,
            returns=hints.get("return"),
        )

    def check(self, what: str, inputs: Mapping[str, object]) -> None:
        """Raise ``BadInput`` if the inputs do not fit the parameters."""
        unknown = set(inputs) - set(self.names)
        if unknown and not self.open_ended:
            raise BadInput(f"{what} has no parameter {', '.join(sorted(unknown))}")
        missing = self.required - set(inputs)
        if missing:
            raise BadInput(f"{what} needs {', '.join(sorted(missing))}")


@dataclass(frozen=True)
class Tool(Generic[P, R]):
    """A function that a step runs, with what is declared about it.

    Calling it calls the function directly, without a step: for tests and notebooks.
    """

    function: Callable[P, R]
    name: str
    artifact_class: ArtifactClass
    effect: Effect
    deadline: float
    retry: RetryPolicy
    max_result: int | None
    signature: Signature = field(repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as if it were not a tool."""
        return self.function(*args, **kwargs)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)


@dataclass(frozen=True)
class Workflow(Generic[P, R]):
    """An async function over named steps."""

    function: Callable[P, R]
    name: str
    attempts: int
    signature: Signature = field(repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, with a ``Run`` of your own: for tests."""
        return self.function(*args, **kwargs)


class Registry:
    """The tools and workflows a process knows, by name."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool[..., Any]] = {}
        self.workflows: dict[str, Workflow[..., Any]] = {}

    def add(self, item: Tool[..., Any] | Workflow[..., Any]) -> None:
        """Make an item findable; raises ``BadInput`` if its name means another function."""
        known: dict[str, Any] = self.tools if isinstance(item, Tool) else self.workflows
        other = known.get(item.name)
        if other is not None and _place(other.function) != _place(item.function):
            raise BadInput(
                f"two functions are named {item.name}: {_place(other.function)} and "
                f"{_place(item.function)}; give one of them name=..."
            )
        known[item.name] = item

    def tool(self, name: str) -> Tool[..., Any]:
        """Return a tool; raises ``NotFound``."""
        try:
            return self.tools[name]
        except KeyError:
            raise NotFound(f"no tool {name} is known here: import its module first") from None

    def workflow(self, name: str) -> Workflow[..., Any]:
        """Return a workflow; raises ``NotFound``."""
        try:
            return self.workflows[name]
        except KeyError:
            raise NotFound(f"no workflow {name} is known here: import its module first") from None


#: Where the decorators put what they make.
REGISTRY = Registry()


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = ...,
    artifact_class: ArtifactClass | int = ...,
    effect: Effect | str = ...,
    deadline: float = ...,
    retry: RetryPolicy | int | None = ...,
    max_result: int | None = ...,
    registry: Registry | None = ...,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(  # noqa: PLR0913 - one keyword for each thing that can be declared
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    artifact_class: ArtifactClass | int = ArtifactClass.SNAPSHOT,
    effect: Effect | str = Effect.SIDE_EFFECT,
    deadline: float = DEFAULT_DEADLINE,
    retry: RetryPolicy | int | None = None,
    max_result: int | None = None,
    registry: Registry | None = None,
) -> Any:
    """Make a function, sync or async, a tool that steps can run.

    What is not declared is taken at its worst (D42): ``effect`` is a side effect, which is never
    repeated by itself, and ``artifact_class`` is 3. ``deadline`` is in seconds (D6), ``retry`` a
    policy or a number of attempts, ``max_result`` a limit in bytes.
    """

    def make(function: Callable[..., Any]) -> Tool[..., Any]:
        policy = RetryPolicy(attempts=retry) if isinstance(retry, int) else retry
        made: Tool[..., Any] = Tool(
            function=function,
            name=_checked_name(name or function.__name__),
            artifact_class=_checked_class(artifact_class),
            effect=_checked_effect(effect),
            deadline=_checked_deadline(deadline),
            retry=policy or RetryPolicy(),
            max_result=max_result,
            signature=Signature.of(function),
        )
        (registry or REGISTRY).add(made)
        return made

    return make(function) if function is not None else make


@overload
def workflow(function: Callable[P, R], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *, name: str | None = ..., attempts: int = ..., registry: Registry | None = ...
) -> Callable[[Callable[P, R]], Workflow[P, R]]: ...
def workflow(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    attempts: int = 3,
    registry: Registry | None = None,
) -> Any:
    """Make an async function a workflow; its first parameter is the ``Run``.

    ``attempts`` is how often in a row the function may raise before the task fails.
    """

    def make(function: Callable[..., Any]) -> Workflow[..., Any]:
        if not inspect.iscoroutinefunction(function):
            raise BadInput(f"{function.__name__} is not async: a workflow is an async function")
        if attempts < 1:
            raise BadInput(f"a workflow needs at least 1 attempt, not {attempts}")
        made: Workflow[..., Any] = Workflow(
            function=function,
            name=_checked_name(name or function.__name__),
            attempts=attempts,
            signature=Signature.of(function, skip=1),
        )
        (registry or REGISTRY).add(made)
        return made

    return make(function) if function is not None else make


def result_type(annotation: Any) -> Any:
    """Return ``T`` of ``Result[T]``, or the annotation itself."""
    if get_origin(annotation) is Result:
        return get_args(annotation)[0]
    return None if annotation is Result else annotation


def wants_result(annotation: Any) -> bool:
    """Whether a parameter asks for a ``Result`` and not for its value."""
    return annotation is Result or get_origin(annotation) is Result


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:  # a type only imported for checkers: the annotation says nothing here
        return {}


def _place(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _checked_class(number: ArtifactClass | int) -> ArtifactClass:
    try:
        return ArtifactClass(number)
    except ValueError:
        raise BadInput(f"artifact_class={number!r} is not one of 1, 2, 3, 4") from None


def _checked_effect(effect: Effect | str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        known = ", ".join(repr(str(one)) for one in Effect)
        raise BadInput(f"effect={effect!r} is not one of {known}") from None


def _checked_deadline(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_DEADLINE:
        raise BadInput(f"a deadline is above 0 and up to {LONGEST_DEADLINE:.0f} s, not {seconds}")
    return float(seconds)


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} cannot be a name: use 1 to 128 of A-Z a-z 0-9 . _ : -")
    return name
