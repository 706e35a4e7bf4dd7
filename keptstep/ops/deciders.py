"""The options with which a person signs a decision."""

from __future__ import annotations

from typing import Annotated

import typer

ByOption = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides this.")]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="Why, for the log.")]
