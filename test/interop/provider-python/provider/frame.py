"""The frames: asks (protocol R1 to R4) and answers (A3)."""

import json
from typing import Any, NamedTuple

from mcp_types import CallToolRequestParams, PaginatedRequestParams, ReadResourceRequestParams
from pydantic import BaseModel, ValidationError


class Malformed(Exception):
    """An ask that cannot be understood."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"malformed ask: {reason}")


class Kind(NamedTuple):
    path: str
    params: type[BaseModel] | None
    required: bool = True


KINDS = (
    Kind("list-tools", PaginatedRequestParams, required=False),
    Kind("list-resources", PaginatedRequestParams, required=False),
    Kind("call-tool", CallToolRequestParams),
    Kind("read-resource", ReadResourceRequestParams),
    Kind("notifications", None),
)


class Ask(NamedTuple):
    channel: int
    kind: Kind
    params: Any


def decode(message: bytes) -> Ask:
    """Reads [channel: u32, big-endian][kind: u8][payload]."""
    if len(message) < 5:
        raise Malformed(f"{len(message)} bytes are too few")
    channel, number, payload = int.from_bytes(message[:4]), message[4], message[5:]
    if number >= len(KINDS):
        raise Malformed(f"unknown kind {number}")
    kind = KINDS[number]
    if kind.params is None:  # whatever the payload is (D3)
        return Ask(channel, kind, None)
    try:
        value = strict_json(payload)
        if value is None and not kind.required:
            return Ask(channel, kind, None)
        # Strictly, so that a number is no string; a JSON object is the only thing that a model is made of.
        return Ask(channel, kind, kind.params.model_validate(value, strict=True))
    except (ValueError, ValidationError) as error:
        raise Malformed(f"payload of kind {number}: {error}") from error


def strict_json(payload: bytes) -> Any:
    """Reads what RFC 8259 allows: UTF-8, no NaN or Infinity, and here no name twice in one object."""
    return json.loads(payload.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once_each)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is there twice")
    return members


RESULT, ERROR = 0, 1


def encode(tag: int, body: BaseModel) -> bytes:
    """Writes [tag: u8][JSON]; a notification has the tag of a result."""
    return bytes([tag]) + body.model_dump_json(by_alias=True, exclude_none=True).encode()
