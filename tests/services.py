"""The services that tests may ask for, and what happens when one is not there."""

import os
import shutil

import pytest


def under_ci() -> bool:
    """Say whether this run is a CI run, where nothing may be skipped for want of a service."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def service_url(variable: str, service: str) -> str:
    """Return the address that `variable` holds; without one, skip here and fail under CI.

    A laptop without the service still runs the rest of the suite; a CI run that silently
    skipped it would prove nothing.
    """
    url = os.environ.get(variable)
    if url:
        return url
    missing = f"no {service}: {variable} is not set (.ci/run starts a private one)"
    if under_ci():
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


def service_program(program: str, service: str) -> str:
    """Return the path of a program that tests start; skips or fails as `service_url` does."""
    path = shutil.which(program)
    if path:
        return path
    missing = f"no {service}: there is no program {program} (.ci/run installs it)"
    if under_ci():
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)
