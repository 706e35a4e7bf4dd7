"""A worker whose claims are short: ``python -m tests.notify.dying HOME`` fails one step.

What it is told to call may kill it.
"""

import sys
import threading

from keptstep import App, Settings
from keptstep.workers import notifier
from tests.notify import workflows

notifier.LEASE = 0.2

if __name__ == "__main__":
    with App.open(settings=Settings.load(sys.argv[1], sweep=0.05)) as app:
        app.submit(workflows.step_failed, text="boom")
        threading.Event().wait()
