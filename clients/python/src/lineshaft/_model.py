"""What all models have in common."""

from __future__ import annotations

from typing import Any, Iterator

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Something that the server answered. Fields that this version of the package does
    not know are kept; a field that is always sent, but not by an older server, is None.
    """

    model_config = ConfigDict(extra="allow", defer_build=True, populate_by_name=True, protected_namespaces=())

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for field in cls.model_fields.values():
            if field.is_required():
                field.default = None

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What was sent; the rest would hide it."""
        for name, value in super().__repr_args__():
            if name in self.model_fields_set:
                yield name, value
