"""A provider's server of the five kinds (docs/protocol.md) that shares no code with the gateway."""
