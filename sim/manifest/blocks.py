"""What every block of a manifest has in common: a closed set of keys, read strictly, with complaints in our words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator

from sim.manifest.problems import Keys, complaint_about
from sim.manifest.scalars import complaint

Value = TypeVar("Value")


class Block(BaseModel):
    """A mapping with a closed set of keys; no value is converted into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    later: ClassVar[tuple[str, ...]] = ()
    """Keys that a later version will have; they are refused by their name."""

    @model_validator(mode="before")
    @classmethod
    def _remember(cls, value: object, info: ValidationInfo) -> object:
        """Note which block reads which mapping, so that a complaint about an unknown key can name the known ones."""
        if info.context is not None and isinstance(value, Mapping):
            info.context.append((value, Keys(cls.key_names(), cls.later)))
        return value

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        """Return the keys as files spell them, in the order of the reference."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())

    def entries(self) -> dict[str, object]:
        """Return the values of this block by their keys."""
        return {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}

    @classmethod
    def read(cls, document: object) -> Self:
        """Return the block that ``document`` holds.

        Raises:
            ConfigError: For the problem that comes first in it, with a count of the others.
        """
        blocks: list[tuple[Mapping[str, object], Keys]] = []
        try:
            return cls.model_validate(document, context=blocks)
        except ValidationError as error:
            raise complaint_about(document, error, blocks) from None


def at_least(lower: str) -> Callable[[Value, ValidationInfo], Value]:
    """Return a validator that refuses an integer below that of another key, which stands before it."""

    def judge(value: Value, info: ValidationInfo) -> Value:
        low = info.data.get(lower)
        if isinstance(value, int) and isinstance(low, int) and value < low:
            raise complaint(f"at least {lower}")
        return value

    return judge
