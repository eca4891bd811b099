"""The registry of deletions. The store deletes no item without an entry of it, and `restore` reads it."""

from collections.abc import Collection
from enum import Enum


class Deletion(Enum):
    """A reason to delete items: their table, their object in the audit, and the changed field that deletes them.

    Without a field, the end of the object deletes them. An object has attributes of the item in its name. Items without
    an object follow from transactions: `restore` does not write them.
    """

    WEBHOOK = "webhooks", "webhook#{id}", ""
    LOGIN_OF_DELETED_AGENT = "logins", "agent#{agent_id}", ""
    LOGIN_OF_FORMER_EMAIL = "logins", "agent#{agent_id}", "email"
    ENTRY_OF_FORMER_EXT_ID = "history", "", ""

    def __init__(self, table: str, audited: str, field: str) -> None:
        self.table, self.audited, self.field = table, audited, field

    def is_made_by(self, kind: str, fields: Collection[str]) -> bool:
        """Return whether an act of this kind, which changed these fields of the object, deletes the items."""
        return self.field in fields and kind != "create" if self.field else kind == "delete"
