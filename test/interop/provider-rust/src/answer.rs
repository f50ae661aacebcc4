//! The answer paths of kinds 0 to 3 (protocol A3 to A6).

use futures_util::SinkExt;
use serde::Serialize;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::frame::Request;
use crate::tools::{Outcome, outcome};
use crate::{Provider, ended, open};

/// `[tag: u8][JSON]`: tag 0 a result or a notification, 1 an error.
pub fn message<T: Serialize>(tag: u8, body: &T) -> Message {
    let mut bytes = vec![tag];
    serde_json::to_writer(&mut bytes, body).expect("the SDK's types are JSON");
    Message::binary(bytes)
}

pub async fn serve(provider: &Provider, channel: u32, request: Request) -> Result<(), Error> {
    let mut socket = open(provider, request.path(), channel).await?;
    let outcome = tokio::select! {
        outcome = outcome(provider, request) => outcome,
        // The caller cancelled (A10), or the gateway is gone.
        () = ended(&mut socket) => return Ok(()),
    };
    match outcome {
        Outcome::Answered(Ok(result)) => socket.send(message(0, &result)).await?,
        Outcome::Answered(Err(error)) => socket.send(message(1, &error)).await?,
        Outcome::Broken(result) => return socket.send(message(0, &result)).await,
        Outcome::Unserved => {}
    }
    socket.close(None).await?;
    ended(&mut socket).await;
    Ok(())
}
