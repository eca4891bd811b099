"""Webhooks by merchant and ID."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from chalicelib.domain.deletions import Deletion
from chalicelib.domain.webhooks import Webhook
from chalicelib.store import audit, table
from chalicelib.store.audit import Act, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError

TABLE = "webhooks"
NOTED = frozenset({"slow_since", "failing_since", "told_at"})


def key(client_id: int, webhook_id: int) -> table.Key[Webhook]:
    """Return the key of a webhook."""
    return table.Key(TABLE, Webhook, {"client_id": client_id, "id": webhook_id})


def of_merchant(client_id: int) -> list[Webhook]:
    """List the current webhooks of a merchant by ID."""
    return table.list_records(TABLE, Webhook, ("client_id", client_id))


def create(webhook: Webhook, act: Act, *also: table.Write) -> None:
    """Store a new webhook and the writes in `also`."""
    table.commit(
        table.put_new(TABLE, webhook, "id"), audit.write(f"webhook#{webhook.id}", act, filled_fields(webhook)), *also
    )


def change(before: Webhook, after: Webhook, act: Act, *also: table.Write) -> None:
    """Store the next version of a webhook and the writes in `also`.

    Raise ChangedMeanwhileError when `before` is no longer the stored version.
    """
    own, changed = key(after.client_id, after.id), ChangedMeanwhileError()
    table.commit(
        table.replace_record(own, after, changed),
        audit.change(f"webhook#{after.id}", act, before, after),
        *also,
    )


def delete(webhook: Webhook, act: Act, *also: table.Write) -> None:
    """Delete a webhook and store the writes in `also`.

    Raise ChangedMeanwhileError when `webhook` is no longer the stored version.
    """
    own, as_read, changed = key(webhook.client_id, webhook.id), {"version": webhook.version}, ChangedMeanwhileError()
    table.commit(
        table.delete(Deletion.WEBHOOK, own, "#version = :version", as_read, changed),
        audit.change(f"webhook#{webhook.id}", act, webhook),
        *also,
    )


def every() -> Iterator[Webhook]:
    """Yield the webhooks of all merchants. Changes of the last moment may be missing."""
    return table.scan(TABLE, Webhook)


def note(after: Webhook) -> None:
    """Store the facts that attempts found about a webhook, unless it is deleted.

    The last write wins; the next attempt corrects it.
    """
    values = {name: value for name in NOTED if (value := getattr(after, name)) is not None}
    with suppress(ChangedMeanwhileError):
        table.write_one(
            table.update(
                key(after.client_id, after.id),
                values,
                remove=NOTED - values.keys(),
                condition="attribute_exists(#url)",
                otherwise=ChangedMeanwhileError(),
            )
        )


def note_told(webhook: Webhook, now: datetime, *also: table.Write) -> None:
    """Store the time of the e-mail to the manager, with the writes in `also`; nothing when another process has."""
    unchanged = "#told_at = :before" if webhook.told_at else "attribute_not_exists(#told_at)"
    told = table.update(
        key(webhook.client_id, webhook.id),
        {"told_at": now},
        condition=f"attribute_exists(#url) AND {unchanged}",
        compared={"before": webhook.told_at} if webhook.told_at else {},
        otherwise=ChangedMeanwhileError(),
    )
    with suppress(ChangedMeanwhileError):
        table.commit(told, *also)
