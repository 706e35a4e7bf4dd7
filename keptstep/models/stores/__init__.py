"""The stores behind the ports: SQL rows, sha-named files, and their in-memory twins."""

from keptstep.models.stores.sql import SqlTaskStore, open_sql_store

__all__ = ["SqlTaskStore", "open_sql_store"]
