//! The asks (protocol R1 to R4).

use std::fmt;

use rmcp::model::{CallToolRequestParams, PaginatedRequestParams, ReadResourceRequestParams};

/// One message of `/requests`: `[channel: u32, big-endian][kind: u8][payload]`.
pub struct Ask {
    pub channel: u32,
    pub request: Request,
}

pub enum Request {
    ListTools(Option<PaginatedRequestParams>),
    ListResources(Option<PaginatedRequestParams>),
    CallTool(CallToolRequestParams),
    ReadResource(ReadResourceRequestParams),
    Notifications,
}

#[derive(Debug)]
pub enum Malformed {
    Truncated(usize),
    Kind(u8),
    Payload { kind: u8, cause: String },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(length) => write!(f, "malformed ask: {length} bytes are too few"),
            Self::Kind(kind) => write!(f, "malformed ask: unknown kind {kind}"),
            Self::Payload { kind, cause } => write!(f, "malformed ask: payload of kind {kind}: {cause}"),
        }
    }
}

impl Ask {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let Some((channel, [kind, payload @ ..])) = message.split_first_chunk() else {
            return Err(Malformed::Truncated(message.len()));
        };
        let request = match kind {
            0 => Request::ListTools(params(*kind, payload)?),
            1 => Request::ListResources(params(*kind, payload)?),
            2 => Request::CallTool(object(*kind, payload)?),
            3 => Request::ReadResource(object(*kind, payload)?),
            4 => Request::Notifications, // whatever the payload is (D3)
            other => return Err(Malformed::Kind(*other)),
        };
        Ok(Self { channel: u32::from_be_bytes(*channel), request })
    }
}

impl Request {
    pub fn path(&self) -> &'static str {
        match self {
            Self::ListTools(_) => "list-tools",
            Self::ListResources(_) => "list-resources",
            Self::CallTool(_) => "call-tool",
            Self::ReadResource(_) => "read-resource",
            Self::Notifications => "notifications",
        }
    }
}

/// `null` or an object.
fn params(kind: u8, payload: &[u8]) -> Result<Option<PaginatedRequestParams>, Malformed> {
    if payload == b"null" { Ok(None) } else { object(kind, payload).map(Some) }
}

/// An object: a derived Deserialize would take an array of the values too.
fn object<T: for<'a> serde::Deserialize<'a>>(kind: u8, payload: &[u8]) -> Result<T, Malformed> {
    let bad = |cause: String| Malformed::Payload { kind, cause };
    if payload.trim_ascii_start().first() != Some(&b'{') {
        return Err(bad("not an object".into()));
    }
    serde_json::from_slice(payload).map_err(|error| bad(error.to_string()))
}
