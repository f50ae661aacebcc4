//! What the client hears on its own, without having asked.

use std::sync::{Arc, Mutex};

use rmcp::ClientHandler;
use rmcp::model::{ClientInfo, ProgressNotificationParam, ProgressToken};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::{Notify, watch};

#[derive(Clone, Default)]
pub struct Ears {
    progress: Arc<Mutex<Vec<(ProgressToken, f64)>>>,
    progressed: Arc<Notify>,
    changes: watch::Sender<usize>,
}

impl Ears {
    /// The progress that came for this token, once it is so much or more.
    pub async fn progress(&self, token: &ProgressToken, least: usize) -> Vec<f64> {
        loop {
            let more = self.progressed.notified();
            let heard = self.progress_so_far(token);
            if heard.len() >= least {
                return heard;
            }
            more.await;
        }
    }

    pub fn progress_so_far(&self, token: &ProgressToken) -> Vec<f64> {
        let heard = self.progress.lock().expect("nobody panics with it");
        heard.iter().filter(|(of, _)| of == token).map(|&(_, progress)| progress).collect()
    }

    /// Counts the changes of the list of tools, from now on.
    pub fn changes(&self) -> watch::Receiver<usize> {
        self.changes.subscribe()
    }
}

impl ClientHandler for Ears {
    async fn on_progress(&self, heard: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().expect("nobody panics with it").push((heard.progress_token, heard.progress));
        self.progressed.notify_waiters();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn get_info(&self) -> ClientInfo {
        ClientInfo::default()
    }
}
