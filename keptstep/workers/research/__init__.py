"""Research: find sources, read them in any encoding, note what bears on a question, report.

Importing this package makes its tools known under the names ``keptstep.workflows.research`` asks
for.
"""

from keptstep.workers.research.brains import resolve
from keptstep.workers.research.checking import check_sources
from keptstep.workers.research.tools import find, notes, read, report

__all__ = ["check_sources", "find", "notes", "read", "report", "resolve"]
