from dataclasses import replace

from chalicelib.store.audit import Act, audit_entry, changed_fields, filled_fields
from tests.support.builders import NOW, an_agent


def test_the_changed_fields_are_named_and_the_bookkeeping_is_not() -> None:
    before = an_agent()
    after = replace(before, name="Other", tax_id="1", version=2, credential_version=2)

    assert changed_fields(before, after) == ("name", "tax_id")


def test_the_fields_that_have_a_value_in_a_new_record_are_named() -> None:
    names = filled_fields(an_agent(tax_id="1"))

    assert {"name", "email", "tax_id"} <= set(names)
    assert not {"version", "country_id", "deleted"} & set(names)


def test_an_entry_holds_names_and_never_values() -> None:
    record = audit_entry("agent#17", Act("update", 3, NOW), ["phone", "name"], "0f")

    assert record.object == "agent#17"
    assert record.at == "2026-03-14T09:26:53.589793+00:00#0f"
    assert (record.kind, record.by, record.fields) == ("update", 3, ("name", "phone"))
