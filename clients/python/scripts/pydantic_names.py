"""Names that a model has already, so that no field may have them."""

TAKEN = frozenset(
    (
        "construct",
        "copy",
        "dict",
        "from_orm",
        "json",
        "parse_file",
        "parse_obj",
        "parse_raw",
        "schema",
        "schema_json",
        "validate",
    )
)
