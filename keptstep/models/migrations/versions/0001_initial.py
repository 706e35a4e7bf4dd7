"""The first schema: conversations, tasks, steps, attempts, events, artifacts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STEP_MOVES = (
    "pending>cancelled",
    "pending>ready",
    "pending>waiting",
    "ready>cancelled",
    "ready>failed",
    "ready>running",
    "running>cancelled",
    "running>done",
    "running>failed",
    "running>ready",
    "running>uncertain",
    "running>waiting",
    "waiting>cancelled",
    "waiting>done",
    "waiting>failed",
    "waiting>ready",
    "uncertain>done",
    "uncertain>failed",
    "uncertain>ready",
    "failed>ready",
)
TASK_MOVES = (
    "ready>cancelled",
    "ready>failed",
    "ready>running",
    "running>blocked",
    "running>cancelled",
    "running>done",
    "running>failed",
    "running>ready",
    "running>waiting",
    "waiting>cancelled",
    "waiting>ready",
    "blocked>cancelled",
    "blocked>ready",
    "failed>ready",
)


def _one_of(column: str, words: str) -> str:
    listed = ", ".join(f"'{word}'" for word in words.split())
    return f"{column} IN ({listed})"


_ARTIFACT_STATE = _one_of("state", "kept lost")

_TASK_STATUS = _one_of("status", "ready running waiting blocked done failed cancelled")

_EVENT_KIND = _one_of(
    "kind",
    "tool_call_started payload_persisted tool_result_persisted task_submitted "
    "advance_started advance_left advance_failed advance_reclaimed task_blocked task_done "
    "task_failed task_cancelled task_reopened step_planned step_readied step_retry "
    "step_failed step_uncertain step_released step_reclaimed step_requeued step_cancelled "
    "late_result",
)

_STEP_EFFECT = "effect IN ('none', 'idempotent', 'side effect')"

_STEP_STATUS = _one_of("status", "pending ready running waiting done failed uncertain cancelled")

_LIVING = """EXISTS (SELECT 1 FROM task t JOIN conversation c ON c.id = t.conversation_id
    WHERE t.id = OLD.task_id AND c.deleting IS NULL)"""

#: What the database refuses whoever asks: a changed or skipped event, an event or a task taken
#: away from a living conversation, a status move that the table does not have.
TRIGGERS = {
    "event_in_order": """BEFORE INSERT ON event
        WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event WHERE task_id = NEW.task_id)
        BEGIN SELECT RAISE(ABORT, 'events are numbered without a gap'); END""",
    "event_is_final": """BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    "event_stays": f"""BEFORE DELETE ON event WHEN {_LIVING}
        BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    "task_stays": """BEFORE DELETE ON task
        WHEN EXISTS (SELECT 1 FROM conversation c
            WHERE c.id = OLD.conversation_id AND c.deleting IS NULL)
        BEGIN SELECT RAISE(ABORT, 'a task goes only with its conversation'); END""",
    "conversation_stays": """BEFORE DELETE ON conversation WHEN OLD.deleting IS NULL
        BEGIN SELECT RAISE(ABORT, 'mark a conversation as deleting first'); END""",
    "step_moves": f"""BEFORE UPDATE OF status ON step
        WHEN OLD.status <> NEW.status
            AND OLD.status || '>' || NEW.status NOT IN {STEP_MOVES!r}
        BEGIN SELECT RAISE(ABORT, 'no such move of a step'); END""",
    "task_moves": f"""BEFORE UPDATE OF status ON task
        WHEN OLD.status <> NEW.status
            AND OLD.status || '>' || NEW.status NOT IN {TASK_MOVES!r}
        BEGIN SELECT RAISE(ABORT, 'no such move of a task'); END""",
}


def upgrade() -> None:
    """Make the tables, then what guards them."""
    _tables()
    for name, body in TRIGGERS.items():
        op.execute(sa.text(f"CREATE TRIGGER {name} {body}"))
    op.execute(sa.text("PRAGMA user_version = 1"))


def downgrade() -> None:
    """Refuse: there is nothing before the first schema."""
    raise RuntimeError("there is no schema before the first")


def _tables() -> None:
    op.create_table(
        "artifact",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("artifact_class", sa.Integer(), nullable=False),
        sa.Column("media_type", sa.String(length=128), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.CheckConstraint(_ARTIFACT_STATE, name="artifact_state"),
        sa.CheckConstraint("length(sha) = 64", name="artifact_sha"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_artifact_sha", "artifact", ["sha"], unique=False)
    op.create_table(
        "commit_mark",
        sa.Column("writer", sa.String(length=64), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("writer"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("parent_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("branched_at", sa.Double(), nullable=True),
        sa.Column("title", sa.String(length=200), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("deleting", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "artifact_source",
        sa.Column("artifact_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("source_id", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifact.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["artifact.id"],
        ),
        sa.PrimaryKeyConstraint("artifact_id", "source_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_artifact_source_source_id", "artifact_source", ["source_id"], unique=False)
    op.create_table(
        "task",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("conversation_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("workflow", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("input", sa.String(length=1024), nullable=True),
        sa.Column("input_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("input_sha", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("artifact_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("error_kind", sa.String(length=128), nullable=True),
        sa.Column("error_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="task_lease"),
        sa.CheckConstraint("(status = 'running') = (owner IS NOT NULL)", name="task_owner"),
        sa.CheckConstraint("status <> 'done' OR artifact_id IS NOT NULL", name="task_result"),
        sa.CheckConstraint(_TASK_STATUS, name="task_status"),
        sa.CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name="task_attempts"),
        sa.CheckConstraint("input IS NULL OR length(input) <= 1024", name="task_input"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_task_conversation_id", "task", ["conversation_id"], unique=False)
    op.create_index(
        "task_ready", "task", ["due_at"], unique=False, sqlite_where=sa.text("status = 'ready'")
    )
    op.create_index(
        "task_running", "task", ["owner"], unique=False, sqlite_where=sa.text("status = 'running'")
    )
    op.create_table(
        "artifact_holder",
        sa.Column("artifact_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("task_id", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(["artifact_id"], ["artifact.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("artifact_id", "task_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_artifact_holder_task_id", "artifact_holder", ["task_id"], unique=False)
    op.create_table(
        "event",
        sa.Column("task_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("step_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("token", sa.Integer(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.CheckConstraint(_EVENT_KIND, name="event_kind"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id", "seq"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "step",
        sa.Column("id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("task_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("tool", sa.String(length=128), nullable=False),
        sa.Column("artifact_class", sa.Integer(), nullable=False),
        sa.Column("effect", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("input", sa.String(length=1024), nullable=True),
        sa.Column("input_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("input_sha", sa.String(length=64), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("deadline", sa.Double(), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("artifact_id", sa.LargeBinary(length=16), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("error_kind", sa.String(length=128), nullable=True),
        sa.Column("error_id", sa.LargeBinary(length=16), nullable=True),
        sa.CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="step_lease"),
        sa.CheckConstraint("(status = 'running') = (owner IS NOT NULL)", name="step_owner"),
        sa.CheckConstraint(_STEP_EFFECT, name="step_effect"),
        sa.CheckConstraint("status <> 'done' OR artifact_id IS NOT NULL", name="step_result"),
        sa.CheckConstraint(_STEP_STATUS, name="step_status"),
        sa.CheckConstraint("artifact_class IN (1, 2, 3, 4)", name="step_class"),
        sa.CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name="step_attempts"),
        sa.CheckConstraint("input IS NULL OR length(input) <= 1024", name="step_input"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_index("step_name", "step", ["task_id", "name"], unique=True)
    op.create_index("step_position", "step", ["task_id", "position"], unique=True)
    op.create_index(
        "step_ready", "step", ["due_at"], unique=False, sqlite_where=sa.text("status = 'ready'")
    )
    op.create_index(
        "step_running", "step", ["owner"], unique=False, sqlite_where=sa.text("status = 'running'")
    )
    op.create_table(
        "attempt",
        sa.Column("step_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("error_kind", sa.String(length=128), nullable=True),
        sa.Column("error_id", sa.LargeBinary(length=16), nullable=True),
        sa.ForeignKeyConstraint(["step_id"], ["step.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("step_id", "n"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "step_need",
        sa.Column("step_id", sa.LargeBinary(length=16), nullable=False),
        sa.Column("needs_id", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(["needs_id"], ["step.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["step_id"], ["step.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("step_id", "needs_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_step_need_needs_id", "step_need", ["needs_id"], unique=False)
