"""What happens next: the pure kernel, its ports, and the coordinator over them."""

# The link `workflows` at the root of a checkout leads here too; loaded by that name,
# every class and table would exist twice.
if __name__ != "keptstep.workflows":
    raise ImportError("import keptstep.workflows, not workflows")
