from chalicelib.store.table import attribute_names, set_attributes


def test_each_attribute_is_set_to_the_value_of_its_name() -> None:
    assert set_attributes(["state", "due_at"]) == "SET #state = :state, #due_at = :due_at"


def test_the_attributes_of_an_expression_are_found_in_functions_and_operators() -> None:
    text = "attribute_not_exists(#n05) OR #at<:before AND #n05 = :wasn05"

    assert attribute_names(text) == {"#n05": "n05", "#at": "at"}
