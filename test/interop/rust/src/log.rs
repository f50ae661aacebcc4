//! What the SDK logs as a warning or an error: shown on standard error, and kept, since a failure to end the session is only
//! logged.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was logged since the last call.
    pub fn take(&self) -> String {
        let logged = std::mem::take(&mut *self.0.lock().expect("nobody panics with it"));
        String::from_utf8_lossy(&logged).trim_end().to_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

pub fn install() -> Log {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .without_time()
        .with_writer(log.clone())
        .init();
    log
}
