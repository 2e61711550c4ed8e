//! While the service cannot begin: whoever asks is told why, and it is tried again.

use crate::api::Problem;
use crate::connections::{self, Bounds};
use crate::errors::Refusal;
use crate::service::{Listeners, Settings, Startup, open};
use axum::Router;
use std::os::unix::net::UnixListener;
use std::time::Duration;
use tokio::net::TcpListener;

/// As often it is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// [`open`]s the service as soon as it can be: its database, and the socket for workers, which `bind` makes in its directory. Until then
/// every request is answered with the reason (503), so that nobody hangs and whoever watches `/api/v1/health/ready` learns what to do.
///
/// # Errors
/// What waiting does not mend, such as a database with a newer schema; and where the listener fails.
pub async fn open_when_possible(
    settings: &Settings,
    http: std::net::TcpListener,
    bind: impl Fn() -> std::io::Result<UnixListener>,
) -> Result<(Startup, Listeners), Refusal> {
    loop {
        let opened = match bind() {
            Ok(work) => open(settings.clone()).await.map(|startup| (startup, work)),
            Err(e) => Err(Refusal::Unavailable(format!(
                "{}: {e}\nhint: let the user who runs this write the directory",
                settings.directory.display()
            ))),
        };
        match opened {
            Ok((startup, work)) => return Ok((startup, Listeners { http, work })),
            Err(Refusal::Unavailable(why)) => {
                tracing::error!(why, "the service cannot begin; trying again");
                refuse(settings, &http, why).await.map_err(|e| Refusal::Fault(format!("listening: {e}")))?;
            }
            Err(other) => return Err(other),
        }
    }
}

/// Answers all requests with this for a while.
async fn refuse(settings: &Settings, http: &std::net::TcpListener, why: String) -> std::io::Result<()> {
    let http = http.try_clone()?;
    http.set_nonblocking(true)?;
    let routes = Router::new().fallback(async move || Problem::from(Refusal::Unavailable(why.clone())));
    let bounds = Bounds::for_access(&settings.access, AGAIN);
    connections::serve(TcpListener::from_std(http)?, routes, bounds, tokio::time::sleep(AGAIN)).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_service;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn ask(address: std::net::SocketAddr) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = "GET /api/v1/health/ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn who_asks_while_the_service_cannot_begin_is_told_why() {
        let directory = tempfile::tempdir().unwrap();
        let later = directory.path().join("later");
        let mut settings = test_service::settings(directory.path(), true);
        // Its directory is made a little later.
        settings.database = later.join("a.db").display().to_string();
        let http = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = http.local_addr().unwrap();
        let socket = later.join("work.sock");
        let opening = tokio::spawn(async move {
            let bind = || UnixListener::bind(&socket);
            open_when_possible(&settings, http, bind).await.map(drop)
        });
        let answer = ask(address).await;
        assert!(
            answer.starts_with("HTTP/1.1 503 ") && answer.contains("application/problem+json"),
            "{answer}"
        );
        assert!(answer.contains("No such file") && answer.contains("the user who runs this"), "{answer}");
        assert!(!opening.is_finished());
        std::fs::create_dir(&later).unwrap();
        opening.await.unwrap().unwrap();
    }
}
