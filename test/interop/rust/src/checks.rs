//! The checks, in the order in which they are made.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, PaginatedRequestParams, PingRequest,
    ProtocolVersion, ReadResourceRequestParams, ResourceContents, ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, QuitReason, RequestHandle, RoleClient, RunningService, Subscription};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::ears::Ears;
use crate::log::Log;
use crate::report::Report;

/// A check that takes longer has failed.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Time for a call to reach its tool before it is cancelled.
const UNDER_WAY: Duration = Duration::from_millis(500);

type Checked = Result<(), String>;

struct Client<'a> {
    peer: Peer<RoleClient>,
    ears: &'a Ears,
    modern: bool,
}

pub async fn all(report: &mut Report, service: RunningService<RoleClient, Ears>, ears: &Ears, revision: &str, log: &Log) {
    let modern = revision >= ProtocolVersion::V_2026_07_28.as_str();
    let client = Client { peer: service.peer().clone(), ears, modern };
    macro_rules! check {
        ($name:literal, $work:expr) => {
            match report.within(LIMIT, $work).await {
                Ok(()) => report.passed($name),
                Err(detail) => report.failed($name, &detail),
            }
        };
    }
    check!("list-pages", client.list_pages());
    check!("call", client.call());
    check!("progress", client.progress());
    check!("cancel", client.cancel());
    check!("read", client.read());
    check!("list-changed", client.list_changed());
    if modern {
        report.absent("ping", "2026-07-28 has no ping");
    } else {
        check!("ping", client.ping());
    }
    check!("big-result", client.big_result());
    check!("disconnect", disconnect(service, log));
}

fn must(good: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if good { Ok(()) } else { Err(otherwise()) }
}

/// The text of a result that is one text.
fn text(result: &CallToolResult) -> Result<&str, String> {
    match result.content.as_slice() {
        [only] if result.is_error != Some(true) => {
            only.as_text().map(|block| block.text.as_str()).ok_or_else(|| format!("no text: {only:?}"))
        }
        _ => Err(format!("not one text: {result:?}")),
    }
}

impl Client<'_> {
    async fn begin(&self, tool: &'static str, arguments: Value) -> Result<RequestHandle<RoleClient>, String> {
        let Value::Object(arguments) = arguments else { return Err("arguments are an object".into()) };
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let begun = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        begun.map_err(|error| format!("{tool}: {error}"))
    }

    async fn tool(&self, tool: &'static str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { return Err("arguments are an object".into()) };
        let called = self.peer.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        text(&called.map_err(|error| format!("{tool}: {error}"))?).map(str::to_owned)
    }

    async fn list_pages(&self) -> Checked {
        let (mut names, mut count, mut pages, mut cursor) = (BTreeSet::new(), 0, 0, None);
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(params)).await.map_err(|error| format!("tools/list: {error}"))?;
            pages += 1;
            count += page.tools.len();
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        must(pages >= 3 && count >= 31 && names.len() == count, || {
            format!("{count} tools, {} different ones, in {pages} pages", names.len())
        })?;

        let (mut uris, mut count, mut pages, mut cursor) = (BTreeSet::new(), 0, 0, None);
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_resources(Some(params)).await.map_err(|error| format!("resources/list: {error}"))?;
            pages += 1;
            count += page.resources.len();
            uris.extend(page.resources.into_iter().map(|resource| resource.uri));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        must(pages == 3 && count == 25 && uris.len() == 25, || {
            format!("{count} resources, {} different ones, in {pages} pages", uris.len())
        })
    }

    async fn call(&self) -> Checked {
        let said = "hello \u{2028} \u{1f980} \"quoted\" \\ \u{7f} \n";
        let heard = self.tool("echo", json!({"text": said})).await?;
        must(heard == said, || format!("said {said:?}, heard {heard:?}"))
    }

    async fn progress(&self) -> Checked {
        let call = async || {
            let begun = self.begin("progress", json!({"steps": 5})).await?;
            let token = begun.progress_token.clone();
            match begun.await_response().await {
                Ok(ServerResult::CallToolResult(result)) => text(&result).map(|_| token),
                other => Err(format!("progress: {other:?}")),
            }
        };
        let (one, other) = tokio::try_join!(call(), call())?;
        must(one != other, || format!("both calls have the token {one:?}"))?;
        for token in [one, other] {
            // The SDK handles a notification beside the response that came after it.
            let _ = timeout(Duration::from_secs(1), self.ears.progress(&token, 5)).await;
            let heard = self.ears.progress_so_far(&token);
            must(heard == [1.0, 2.0, 3.0, 4.0, 5.0], || format!("progress of {token:?}: {heard:?}"))?;
        }
        Ok(())
    }

    async fn cancelled(&self) -> Result<u64, String> {
        let said = self.tool("cancelled", json!({})).await?;
        said.parse().map_err(|_| format!("cancelled says {said:?}"))
    }

    async fn cancel(&self) -> Checked {
        let before = self.cancelled().await?;
        let slow = self.begin("slow", json!({})).await?;
        sleep(UNDER_WAY).await;
        slow.cancel(Some("changed my mind".into())).await.map_err(|error| format!("cancel: {error}"))?;
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let now = self.cancelled().await?;
            if now == before + 1 {
                return Ok(());
            }
            must(Instant::now() < until, || format!("cancelled {before} before, {now} after"))?;
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn read(&self) -> Checked {
        let read = self.peer.read_resource(ReadResourceRequestParams::new("text://7")).await;
        let read = read.map_err(|error| format!("resources/read: {error}"))?;
        match read.contents.as_slice() {
            [ResourceContents::TextResourceContents { uri, text, .. }] => {
                must(uri == "text://7" && text == "the text of text://7", || format!("{uri}: {text:?}"))
            }
            other => Err(format!("not one text: {other:?}")),
        }
    }

    async fn list_changed(&self) -> Checked {
        let mut listening = if self.modern {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let opened = self.peer.listen(filter).await.map_err(|error| format!("subscriptions/listen: {error}"))?;
            let honoured = opened.acknowledged().tools_list_changed;
            must(honoured == Some(true), || format!("acknowledged {:?}", opened.acknowledged()))?;
            Listening::Stream(Box::new(opened))
        } else {
            Listening::Session(self.ears.changes())
        };
        // Again, because nothing is replayed to a stream that was opened too late.
        for _ in 0..10 {
            self.tool("grow", json!({})).await?;
            if let Ok(heard) = timeout(Duration::from_secs(1), listening.heard()).await {
                heard?;
                return listening.end().await;
            }
        }
        Err("heard nothing".into())
    }

    async fn ping(&self) -> Checked {
        match self.peer.send_request(ClientRequest::PingRequest(PingRequest::default())).await {
            Ok(ServerResult::EmptyResult(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    async fn big_result(&self) -> Checked {
        let length = self.tool("big", json!({"bytes": 3_000_000})).await?.len();
        must(length == 3_000_000, || format!("{length} bytes"))
    }
}

/// Where the notifications come from that nobody's request is waiting for.
enum Listening {
    Session(watch::Receiver<usize>),
    Stream(Box<Subscription>),
}

impl Listening {
    async fn heard(&mut self) -> Checked {
        match self {
            Self::Session(changes) => changes.changed().await.map_err(|error| error.to_string()),
            Self::Stream(stream) => match stream.next().await {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => Ok(()),
                other => Err(format!("the subscription brought {other:?}, and ended as {:?}", stream.end())),
            },
        }
    }

    async fn end(self) -> Checked {
        match self {
            Self::Session(_) => Ok(()),
            Self::Stream(mut stream) => stream.cancel().await.map_err(|error| format!("end of the subscription: {error}")),
        }
    }
}

async fn disconnect(service: RunningService<RoleClient, Ears>, log: &Log) -> Checked {
    log.take();
    match service.cancel().await {
        Ok(QuitReason::Cancelled | QuitReason::Closed) => {}
        other => return Err(format!("ended as {other:?}")),
    }
    let logged = log.take();
    must(logged.is_empty(), || logged)
}
