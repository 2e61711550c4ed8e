//! The checks of `tauto doctor` that concern the service.

use super::database::{self, service_database};
use super::serve::config::LISTEN;
use crate::config::Config;
use report::{Check, CheckState};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use store::SCHEMA;

/// How long an answer of a service on this machine is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks the port and the database of `tauto serve`. Call it last: it makes root become the user who owns the database.
pub(crate) fn checks(config: &Config) -> Vec<Check> {
    vec![port(config.serve.listen.unwrap_or(LISTEN)), database(config)]
}

fn port(listen: SocketAddr) -> Check {
    const ID: &str = "port";
    let weaker = |found: String, remedy: &str| Check::not(CheckState::Weaker, ID, found, remedy);
    match TcpListener::bind(listen) {
        Ok(_) => Check::ok(ID, format!("{listen} is free for `tauto serve`")),
        Err(e) if e.kind() == ErrorKind::AddrInUse => match ready(listen) {
            Some(true) => Check::ok(ID, format!("a service answers at {listen} and is ready")),
            Some(false) => weaker(
                format!("a service answers at {listen} and is not ready: no worker is connected"),
                "see its log; workers are started by `tauto serve` or tautochrone-worker.service",
            ),
            None => weaker(
                format!("{listen} is used by another program"),
                "set serve.listen in the configuration, or use `tauto serve --listen`",
            ),
        },
        Err(e) => weaker(
            format!("{listen}: {e}"),
            "set serve.listen in the configuration to an address of this machine",
        ),
    }
}

/// Whether a service of ours answers there that it is ready; `None`: what answers is another program, or nothing does.
fn ready(listen: SocketAddr) -> Option<bool> {
    let mut stream = TcpStream::connect_timeout(&listen, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream
        .write_all(format!("GET /api/v1/health/ready HTTP/1.0\r\nHost: {listen}\r\n\r\n").as_bytes())
        .ok()?;
    let mut answer = String::new();
    stream.take(1 << 16).read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?;
    let ours = answer.contains("\"workers\"") || answer.contains("\"ready\"");
    (ours && answer.starts_with("HTTP/1.")).then_some(status == "200")
}

fn database(config: &Config) -> Check {
    const ID: &str = "database";
    let address = match service_database(config) {
        Ok(address) => address,
        Err(e) => return Check::not(CheckState::Unknown, ID, e.to_string(), "set TAUTO_DATA_DIR"),
    };
    let file = store::Store::file_of(&address).ok().flatten();
    if file.is_some_and(|file| !file.exists()) {
        return Check::ok(ID, "none yet: `tauto serve` creates it");
    }
    let found = database::become_keeper(&address).and_then(|()| {
        database::wait_for(async {
            let (store, found) = store::Store::open_as_is(&address).await?;
            let place = store.place().to_string();
            store.close().await;
            Ok::<_, store::Error>((place, found))
        })
    });
    let remedy = "correct serve.database in the configuration, or start the database";
    match found {
        Ok(Ok((place, SCHEMA))) => Check::ok(ID, format!("{place}, schema {SCHEMA}")),
        Ok(Ok((place, found))) if found < SCHEMA => {
            let found = format!("{place}: schema {found}, older than {SCHEMA}");
            Check::not(
                CheckState::Weaker,
                ID,
                found,
                "tauto database backup FILE; then start the service, which upgrades it",
            )
        }
        Ok(Ok((place, found))) => {
            let found = format!("{place}: schema {found}, newer than {SCHEMA}");
            Check::not(CheckState::Bad, ID, found, "install the newer release of tautochrone that made it")
        }
        Ok(Err(store::Error::NotFound(_))) => Check::ok(ID, "empty yet: `tauto serve` fills it"),
        Ok(Err(e)) => Check::not(CheckState::Bad, ID, e.to_string(), remedy),
        Err(e) => Check::not(CheckState::Unknown, ID, e.to_string(), remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_answers_like_a_service_of_ours_is_one() {
        let answers = [
            ("HTTP/1.1 200 OK\r\n\r\n{\"ready\":true,\"workers\":1}", Some(true)),
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n{\"ready\":false}", Some(false)),
            ("HTTP/1.1 200 OK\r\n\r\n<html>", None),
            ("SSH-2.0-OpenSSH\r\n", None),
        ];
        for (answer, wanted) in answers {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 512]);
                stream.write_all(answer.as_bytes()).unwrap();
            });
            assert_eq!(ready(address), wanted, "{answer}");
            server.join().unwrap();
        }
    }

    #[test]
    fn a_taken_port_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Nobody accepts: the connection stands, and no answer comes.
        let check = port(address);
        assert_eq!((check.state, check.remedy.is_some()), (CheckState::Weaker, true), "{check:?}");
        drop(listener);
        assert_eq!(port(address).state, CheckState::Ok);
    }
}
