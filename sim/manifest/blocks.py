"""What every block of a manifest has in common: unknown keys are refused with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


class Block(BaseModel):
    """A mapping with a closed set of keys, read strictly: no value is converted into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    later: ClassVar[tuple[str, ...]] = ()
    """Keys that a later version will have; they are refused by their name."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: object) -> object:
        if isinstance(value, Mapping):
            known = cls.keys()
            for key in value:
                if key not in known:
                    context = {"key": key, "known": known, "later": cls.later}
                    raise PydanticCustomError("unknown_key", "unknown key", context)
        return value

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys as files spell them, in the order of the reference."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def entries(self) -> dict[str, object]:
        """Return the values of this block by their keys."""
        return {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}

    @classmethod
    def read(cls, document: object) -> Self:
        """Return the block that ``document`` holds.

        Raises:
            pydantic.ValidationError: With every problem found; ``sim.manifest.problems.complain`` puts the first into
            words.
        """
        return cls.model_validate(document)
