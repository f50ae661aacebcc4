//! What is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ErrorCode, ErrorData, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, Tool,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Provider;
use crate::frame::Request;

/// What becomes of an ask.
pub enum Outcome {
    Answered(Result<Value, ErrorData>),
    /// A message, and then the end of TCP without a Close.
    Broken(Value),
    /// A Close without a message.
    Unserved,
}

#[derive(Default)]
pub struct Tools {
    /// Whether the last call of `abrupt` broke off.
    broken: AtomicBool,
}

pub async fn outcome(provider: &Provider, request: Request) -> Outcome {
    match request {
        Request::ListTools(params) => only_page(params, &ListToolsResult::with_all_items(tools())),
        Request::ListResources(params) => {
            let resource = Resource::new("text://1", "text 1").with_mime_type("text/plain");
            only_page(params, &ListResourcesResult::with_all_items(vec![resource]))
        }
        Request::ReadResource(params) => read(&params),
        Request::CallTool(params) => call(provider, &params).await,
        Request::Notifications => unreachable!("notifications have no outcome"),
    }
}

fn answered<T: Serialize>(result: &T) -> Outcome {
    Outcome::Answered(Ok(serde_json::to_value(result).expect("the SDK's types are JSON")))
}

fn only_page<T: Serialize>(params: Option<PaginatedRequestParams>, page: &T) -> Outcome {
    match params.and_then(|params| params.cursor) {
        None => answered(page),
        Some(cursor) => refused(ErrorData::invalid_params(format!("no page {cursor}"), None)),
    }
}

fn said(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn refused(error: ErrorData) -> Outcome {
    Outcome::Answered(Err(error))
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, description: &'static str, schema: Value| {
        let Value::Object(schema) = schema else { unreachable!("schemas are objects") };
        Tool::new(name, description, Arc::new(schema))
    };
    let none = || json!({"type": "object"});
    let echo = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}, "afterMs": {"type": "integer", "minimum": 0}},
        "required": ["text"],
    });
    vec![
        tool("echo", "says the text back, after so many milliseconds", echo),
        tool("abrupt", "breaks off the first time", none()),
        tool("unserved", "is not served", none()),
        tool("error", "answers an error", none()),
        tool("notify", "says that the list of tools changed", none()),
    ]
}

fn read(params: &ReadResourceRequestParams) -> Outcome {
    if params.uri != "text://1" {
        return refused(ErrorData::invalid_params("no such resource", Some(json!({"uri": params.uri}))));
    }
    answered(&ReadResourceResult::new(vec![ResourceContents::text("the text of text://1", "text://1")]))
}

async fn call(provider: &Provider, params: &CallToolRequestParams) -> Outcome {
    match params.name.as_ref() {
        "echo" => echo(params).await,
        "abrupt" if !provider.tools.broken.fetch_not(Ordering::Relaxed) => {
            Outcome::Broken(serde_json::to_value(said("must not be heard")).expect("the SDK's types are JSON"))
        }
        "abrupt" => answered(&said("again")),
        "unserved" => Outcome::Unserved,
        "error" => refused(ErrorData::new(ErrorCode(-32099), "as asked", None)),
        "notify" => {
            provider.notifications.tools_changed().await;
            answered(&said("notified"))
        }
        other => refused(ErrorData::invalid_params(format!("unknown tool {other}"), None)),
    }
}

async fn echo(params: &CallToolRequestParams) -> Outcome {
    let argument = |name| params.arguments.as_ref().and_then(|arguments| arguments.get(name));
    let Some(text) = argument("text").and_then(Value::as_str) else {
        return refused(ErrorData::invalid_params("echo needs a text", None));
    };
    if let Some(after) = argument("afterMs").and_then(Value::as_u64) {
        sleep(Duration::from_millis(after)).await;
    }
    answered(&said(text))
}
