//! A provider's server of the five kinds (docs/protocol.md) that shares no code with the gateway.
//!
//! `--url ws://HOST:PORT/containers/ID`. Its first line on standard output says who it is, once `/requests` is open; after
//! that there is one for each path that it opened.

mod answer;
mod frame;
mod notifications;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use frame::{Ask, Malformed, Request};
use futures_util::StreamExt;
use notifications::Notifications;
use rmcp::model::Implementation;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tools::Tools;

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Between one `/requests` connection and the next.
const PAUSE: Duration = Duration::from_millis(200);

/// The provider's side of one container.
pub struct Provider {
    pub url: String,
    pub tools: Tools,
    pub notifications: Notifications,
}

/// Why a `/requests` connection is no longer read.
enum Ended {
    Asked,
    Lost(String),
    Malformed(Malformed),
}

fn url(mut given: impl Iterator<Item = String>) -> Result<String, String> {
    match (given.next().as_deref(), given.next(), given.next()) {
        (Some("--url"), Some(url), None) => Ok(url.trim_end_matches('/').to_owned()),
        _ => Err("usage: run --url ws://HOST:PORT/containers/ID".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = match url(std::env::args().skip(1)) {
        Ok(url) => url,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    let mut term = signal(SignalKind::terminate()).expect("signals can be handled");
    let provider = Arc::new(Provider { url, tools: Tools::default(), notifications: Notifications::default() });
    match serve(&provider, &mut term).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(malformed) => {
            eprintln!("{malformed}");
            ExitCode::FAILURE
        }
    }
}

/// Keeps a `/requests` connection until it is asked to end, or cannot understand an ask.
async fn serve(provider: &Arc<Provider>, term: &mut Signal) -> Result<(), Malformed> {
    let mut introduced = false;
    let at = format!("{}/requests", provider.url);
    loop {
        let connected = tokio::select! {
            connected = connect_async(&at) => connected,
            _ = term.recv() => return Ok(()),
        };
        match connected {
            Err(error) => eprintln!("{at}: {error}"),
            Ok((socket, _)) => {
                if !std::mem::replace(&mut introduced, true) {
                    introduce();
                }
                match asks(provider, socket, term).await {
                    Ended::Asked => return Ok(()),
                    Ended::Malformed(malformed) => return Err(malformed),
                    Ended::Lost(how) => eprintln!("{at}: {how}"),
                }
            }
        }
        tokio::select! {
            () = sleep(PAUSE) => {}
            _ = term.recv() => return Ok(()),
        }
    }
}

/// Takes the asks of one connection; each is answered on its own.
async fn asks(provider: &Arc<Provider>, mut socket: Socket, term: &mut Signal) -> Ended {
    loop {
        let message = tokio::select! {
            message = socket.next() => message,
            _ = term.recv() => {
                let _ = socket.close(None).await;
                return Ended::Asked;
            }
        };
        match message {
            Some(Ok(Message::Binary(message))) => match Ask::decode(&message) {
                Ok(ask) => take(provider, ask),
                Err(malformed) => return Ended::Malformed(malformed),
            },
            Some(Ok(_)) => {}
            Some(Err(error)) => return Ended::Lost(error.to_string()),
            None => return Ended::Lost("closed".into()),
        }
    }
}

fn take(provider: &Arc<Provider>, Ask { channel, request }: Ask) {
    let (path, provider) = (request.path(), provider.clone());
    tokio::spawn(async move {
        let done = match request {
            Request::Notifications => notifications::serve(&provider, channel).await,
            request => answer::serve(&provider, channel, request).await,
        };
        if let Err(error) = done {
            eprintln!("/mcp/{path}/{channel}: {error}");
        }
    });
}

/// Opens the path on which an ask is answered.
pub async fn open(provider: &Provider, path: &str, channel: u32) -> Result<Socket, Error> {
    let (socket, _) = connect_async(format!("{}/mcp/{path}/{channel}", provider.url)).await?;
    println!("{}", json!({"opened": path, "channel": channel}));
    Ok(socket)
}

/// Reads until the peer's Close, or the end of the connection.
pub async fn ended(socket: &mut Socket) {
    while let Some(Ok(message)) = socket.next().await {
        if message.is_close() {
            return;
        }
    }
}

fn introduce() {
    let version =
        format!("tokio-tungstenite {}, rmcp {}", locked("tokio-tungstenite"), Implementation::from_build_env().version);
    println!("{}", json!({"provider": "rust", "version": version}));
}

/// The version of a package in the lock file.
fn locked(package: &str) -> &'static str {
    let name = format!("name = \"{package}\"\nversion = \"");
    let after = include_str!("../../Cargo.lock").split_once(&name).map(|(_, after)| after);
    after.and_then(|after| after.split_once('"')).map_or("", |(version, _)| version)
}
