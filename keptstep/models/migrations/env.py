"""Alembic's entry: runs the migrations on the connection that the runner opened."""

from alembic import context

from keptstep.models.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
