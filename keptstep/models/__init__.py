"""What is remembered, and how: ids, statuses, records, events, artifacts, and their stores."""

# The link `models` at the root of a checkout leads here too; loaded by that name,
# every class and table would exist twice.
if __name__ != "keptstep.models":
    raise ImportError("import keptstep.models, not models")
