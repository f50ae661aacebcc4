//! The notifications path, kind 4 (protocol N1 to N3).

use futures_util::{SinkExt, StreamExt};
use rmcp::model::{ServerNotification, ToolListChangedNotification};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_tungstenite::tungstenite::Error;

use crate::answer::message;
use crate::{Provider, open};

/// A notification to send, and where to say that it was.
type Outgoing = (ServerNotification, oneshot::Sender<()>);

/// The way to the path that is open, if one is.
#[derive(Default)]
pub struct Notifications(watch::Sender<Option<mpsc::Sender<Outgoing>>>);

impl Notifications {
    /// Returns once the notification was written; waits for a path to write it on.
    pub async fn tools_changed(&self) {
        let mut paths = self.0.subscribe();
        loop {
            let path = paths.wait_for(Option::is_some).await.expect("self holds the sender").clone();
            let (written, was_written) = oneshot::channel();
            let changed = ServerNotification::ToolListChangedNotification(ToolListChangedNotification::default());
            let taken = path.expect("waited for").send((changed, written)).await;
            if taken.is_ok() && was_written.await.is_ok() {
                return;
            }
            // That path is no more: wait for the next.
            paths.changed().await.expect("self holds the sender");
        }
    }
}

pub async fn serve(provider: &Provider, channel: u32) -> Result<(), Error> {
    let mut socket = open(provider, "notifications", channel).await?;
    let (path, mut outgoing) = mpsc::channel::<Outgoing>(16);
    provider.notifications.0.send_replace(Some(path));
    loop {
        tokio::select! {
            Some((notification, written)) = outgoing.recv() => {
                socket.send(message(0, &notification)).await?;
                let _ = written.send(());
            }
            received = socket.next() => match received {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
        }
    }
}
