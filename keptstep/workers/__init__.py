"""Who does it: the queue surface, the lease keeper, the executors and the tools."""

# The link `workers` at the root of a checkout leads here too; loaded by that name,
# every class and table would exist twice.
if __name__ != "keptstep.workers":
    raise ImportError("import keptstep.workers, not workers")
