"""Events for verdicts and pauses, when a task was paused, and what a person is to be told."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_KINDS = (
    "tool_call_started payload_persisted tool_result_persisted task_submitted "
    "advance_started advance_left advance_failed advance_reclaimed task_blocked task_done "
    "task_failed task_cancelled task_reopened task_paused task_unpaused step_planned "
    "step_readied step_retry step_failed step_uncertain step_released step_reclaimed "
    "step_requeued step_settled step_cancelled late_result"
)

_LIVING = """EXISTS (SELECT 1 FROM task t JOIN conversation c ON c.id = t.conversation_id
    WHERE t.id = OLD.task_id AND c.deleting IS NULL)"""

#: As in the first schema: they go with the old table and are made again on the new one.
_TRIGGERS = {
    "event_in_order": """BEFORE INSERT ON event
        WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event WHERE task_id = NEW.task_id)
        BEGIN SELECT RAISE(ABORT, 'events are numbered without a gap'); END""",
    "event_is_final": """BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    "event_stays": f"""BEFORE DELETE ON event WHEN {_LIVING}
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
}


def upgrade() -> None:
    """Give the log a wider vocabulary: SQLite changes a check only with its table."""
    op.add_column("task", sa.Column("paused_at", sa.Double(), nullable=True))
    op.execute(sa.text("ALTER TABLE event RENAME TO event_before"))
    op.create_table(
        "event",
        sa.Column("task_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("step_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("token", sa.Integer(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.CheckConstraint(_kinds(), name="event_kind"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", "seq"),
        sqlite_with_rowid=False,
    )
    columns = "task_id, seq, at, kind, step_id, token, data"
    copy = f"INSERT INTO event ({columns}) SELECT {columns} FROM event_before"  # noqa: S608
    op.execute(sa.text(copy))
    op.execute(sa.text("DROP TABLE event_before"))
    for name, body in _TRIGGERS.items():
        op.execute(sa.text(f"CREATE TRIGGER {name} {body}"))
    op.create_table(
        "notice",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("task_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("step_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_index("notice_due", "notice", ["due_at"], unique=False)
    op.create_index("ix_notice_task_id", "notice", ["task_id"], unique=False)
    op.execute(sa.text("PRAGMA user_version = 2"))


def downgrade() -> None:
    """Refuse: events of the newer kinds would be lost."""
    raise RuntimeError("there is no way back to the first schema")


def _kinds() -> str:
    listed = ", ".join(f"'{word}'" for word in _KINDS.split())
    return f"kind IN ({listed})"
