"""How people see it and step in: the command line, dead letters, verdicts, the doctor."""

# The link `ops` at the root of a checkout leads here too; loaded by that name,
# every class and table would exist twice.
if __name__ != "keptstep.ops":
    raise ImportError("import keptstep.ops, not ops")
