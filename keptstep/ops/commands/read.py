"""``keptstep read``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keptstep.ops.session import Session, command

OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write into this file.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "read")(read)


def read(
    session: Session,
    artifact: Annotated[str, typer.Argument(metavar="ARTIFACT|TASK|STEP")],
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Give out a kept result, checked against its hash.

    Takes the id of an artifact, or of a task or step that has a result. The bytes go to stdout
    or into a file as they are. On a terminal text is shown with control characters spelled
    out, and other data is refused. With --json the artifact's record is printed, not its bytes.
    """
    from keptstep.ops.finding import find_result
    from keptstep.ops.homes import reading
    from keptstep.ops.results import stream
    from keptstep.ops.saving import check_out
    from keptstep.ops.words import size

    session.log()
    check_out(out, force=force)
    with reading(session.settings) as home:
        ref = home.store.artifact(find_result(home.store, artifact))
        if out is not None or not session.json:
            stream(home.artifacts, ref, out, force=force)
        sources = home.store.sources(ref.id)
    if session.json:
        from keptstep.ops.documents import artifact_document
        from keptstep.ops.streams import write_json

        document = artifact_document(ref)
        document["sources"] = [source.hex() for source in sources]
        document["out"] = str(out.absolute()) if out is not None else None
        write_json(document)
    elif out is not None:
        session.note(f"saved to {out} ({size(ref.size)}, {ref.media_type})")
