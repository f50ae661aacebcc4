//! What is said on standard output, a line of JSON each.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

pub struct Report {
    until: Instant,
    failed: bool,
}

impl Report {
    pub fn new(limit: Duration) -> Self {
        Self { until: Instant::now() + limit, failed: false }
    }

    /// Awaits the work, but not beyond its limit, and not beyond that of the program.
    pub async fn within<T>(&self, limit: Duration, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        match timeout_at(self.until, timeout(limit, work)).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(format!("not done after {limit:?}")),
            Err(_) => Err("the program's time is over".into()),
        }
    }

    pub fn client(&self, mode: &str, revision: &str) {
        let version = rmcp::model::Implementation::from_build_env().version;
        println!("{}", json!({"client": "rust-sdk", "version": version, "mode": mode, "revision": revision}));
    }

    pub fn passed(&self, check: &str) {
        println!("{}", json!({"check": check, "ok": true}));
    }

    pub fn failed(&mut self, check: &str, detail: &str) {
        self.failed = true;
        println!("{}", json!({"check": check, "ok": false, "detail": detail}));
    }

    pub fn absent(&self, check: &str, why: &str) {
        println!("{}", json!({"check": check, "absent": why}));
    }

    pub fn exit_code(&self) -> ExitCode {
        if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
