//! An MCP client on the official Rust SDK that checks what a server does for it.
//!
//! `--url URL --mode legacy|auto`: legacy begins with `initialize`, auto probes `server/discover` and goes back to
//! `initialize` where the server does not know it.

mod checks;
mod ears;
mod log;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use ears::Ears;
use report::Report;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;

/// All that the program does, whatever the server does.
const LIMIT: Duration = Duration::from_secs(60);

struct Arguments {
    url: String,
    mode: String,
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut url, mut mode) = (None, None);
        while let Some(name) = given.next() {
            let place = match name.as_str() {
                "--url" => &mut url,
                "--mode" => &mut mode,
                _ => return Err(format!("unknown argument {name}")),
            };
            *place = Some(given.next().ok_or(format!("{name} needs a value"))?);
        }
        let (Some(url), Some(mode)) = (url, mode) else {
            return Err("both --url and --mode are needed".into());
        };
        if mode != "legacy" && mode != "auto" {
            return Err(format!("--mode is {mode}: give legacy or auto"));
        }
        Ok(Self { url, mode })
    }

    fn lifecycle(&self) -> ClientLifecycleMode {
        if self.mode == "legacy" {
            return ClientLifecycleMode::Initialize;
        }
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        }
    }
}

async fn connect(arguments: &Arguments, ears: Ears) -> Result<RunningService<RoleClient, Ears>, String> {
    let transport = StreamableHttpClientTransport::from_uri(arguments.url.as_str());
    ears.serve_with_lifecycle(transport, arguments.lifecycle()).await.map_err(|error| error.to_string())
}

// One thread: notifications are handled in the order in which they came.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(reason) => {
            eprintln!("{reason}\nusage: run --url URL --mode legacy|auto");
            return ExitCode::from(2);
        }
    };
    let log = log::install();
    let mut report = Report::new(LIMIT);
    let ears = Ears::default();
    let connected = report.within(checks::LIMIT, connect(&arguments, ears.clone())).await;
    let revision = match &connected {
        Ok(service) => service.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default(),
        Err(_) => String::new(),
    };
    report.client(&arguments.mode, &revision);
    match connected {
        Err(reason) => report.failed("connect", &reason),
        Ok(service) => {
            report.passed("connect");
            checks::all(&mut report, service, &ears, &revision, &log).await;
        }
    }
    report.exit_code()
}
