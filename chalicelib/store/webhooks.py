"""Webhooks by merchant and ID."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial

from chalicelib.domain.deletions import Deletion
from chalicelib.domain.webhooks import Webhook
from chalicelib.store import audit, table
from chalicelib.store.audit import Act, changed_fields, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import (
    Key,
    Write,
    commit,
    decode,
    list_records,
    pages_of,
    put_new,
    readable,
    replace_record,
    table_name,
    update,
    write_one,
)

TABLE = "webhooks"
NOTED = frozenset({"slow_since", "failing_since", "told_at"})


def key(client_id: int, webhook_id: int) -> Key[Webhook]:
    """Return the key of a webhook."""
    return Key(TABLE, Webhook, {"client_id": client_id, "id": webhook_id})


def of_merchant(client_id: int) -> list[Webhook]:
    """List the current webhooks of a merchant by ID."""
    return list_records(TABLE, Webhook, ("client_id", client_id))


def create(webhook: Webhook, act: Act, *also: Write) -> None:
    """Store a new webhook and the writes in `also`."""
    commit(put_new(TABLE, webhook, "id"), audit.write(f"webhook#{webhook.id}", act, filled_fields(webhook)), *also)


def change(before: Webhook, after: Webhook, act: Act, *also: Write) -> None:
    """Store the next version of a webhook and the writes in `also`.

    Raise ChangedMeanwhileError when `before` is no longer the stored version.
    """
    own, changed = key(after.client_id, after.id), ChangedMeanwhileError()
    commit(
        replace_record(own, after, changed),
        audit.write(f"webhook#{after.id}", act, changed_fields(before, after)),
        *also,
    )


def delete(webhook: Webhook, act: Act, *also: Write) -> None:
    """Delete a webhook and store the writes in `also`.

    Raise ChangedMeanwhileError when `webhook` is no longer the stored version.
    """
    own, as_read, changed = key(webhook.client_id, webhook.id), {"version": webhook.version}, ChangedMeanwhileError()
    commit(
        table.delete(Deletion.WEBHOOK, own, "#version = :version", as_read, changed),
        audit.write(f"webhook#{webhook.id}", act, filled_fields(webhook)),
        *also,
    )


def every() -> Iterator[Webhook]:
    """Yield the webhooks of all merchants. Changes of the last moment may be missing."""
    for page in pages_of({"TableName": table_name(TABLE)}, "Scan"):
        yield from readable(TABLE, page["Items"], partial(decode, Webhook))


def note(after: Webhook) -> None:
    """Store the facts that attempts found about a webhook, unless it is deleted.

    The last write wins; the next attempt corrects it.
    """
    values = {name: value for name in NOTED if (value := getattr(after, name)) is not None}
    with suppress(ChangedMeanwhileError):
        write_one(
            update(
                key(after.client_id, after.id),
                values,
                remove=NOTED - values.keys(),
                condition="attribute_exists(#url)",
                otherwise=ChangedMeanwhileError(),
            )
        )


def note_told(webhook: Webhook, now: datetime, *also: Write) -> None:
    """Store the time of the e-mail to the manager, with the writes in `also`; nothing when another process has."""
    unchanged = "#told_at = :before" if webhook.told_at else "attribute_not_exists(#told_at)"
    told = update(
        key(webhook.client_id, webhook.id),
        {"told_at": now},
        condition=f"attribute_exists(#url) AND {unchanged}",
        compared={"before": webhook.told_at} if webhook.told_at else {},
        otherwise=ChangedMeanwhileError(),
    )
    with suppress(ChangedMeanwhileError):
        commit(told, *also)
