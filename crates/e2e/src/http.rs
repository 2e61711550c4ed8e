//! A client for HTTP/1.1 that keeps its connection: enough for our own service, and light enough to load it with.

use crate::network::Namespace;
use serde_json::Value;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer that takes longer than this is none.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, made when it is needed and again when it broke.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    /// Where it connects from; `None`: from where its thread is.
    from: Option<Namespace>,
    stream: Option<BufReader<TcpStream>>,
    /// Sent with every request.
    headers: Vec<(String, String)>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// What came with it.
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, why.into())
}

impl Client {
    /// A client of the service at this address.
    pub fn new(address: SocketAddr) -> Client {
        Client { address, from: None, stream: None, headers: Vec::new() }
    }

    /// The same, connecting from here, where there is a place.
    pub fn from(self, from: Option<Namespace>) -> Client {
        Client { from, ..self }
    }

    /// The same, with one more header in every request.
    pub fn with(mut self, name: &str, value: &str) -> Client {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Asks for a path.
    ///
    /// # Errors
    /// No answer.
    pub fn get(&mut self, path: &str) -> Result<Response> {
        self.ask("GET", path, &[], b"")
    }

    /// Sends a document to a path, with more headers.
    ///
    /// # Errors
    /// No answer. Whether the request was carried out is not known then.
    pub fn post(&mut self, path: &str, headers: &[(&str, &str)], document: &Value) -> Result<Response> {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        self.ask("POST", path, &headers, document.to_string().as_bytes())
    }

    /// Has what is at a path removed.
    ///
    /// # Errors
    /// No answer.
    pub fn delete(&mut self, path: &str) -> Result<Response> {
        self.ask("DELETE", path, &[], b"")
    }

    /// Sends any request.
    ///
    /// # Errors
    /// No answer. Whether the request was carried out is not known then.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n", body.len());
        let request = [request.as_bytes(), body].concat();
        stream.get_mut().write_all(&request)?;
        let (response, keep) = read(&mut stream)?;
        self.stream = keep.then_some(stream);
        Ok(response)
    }

    fn connect(&self) -> Result<BufReader<TcpStream>> {
        let _there = self.from.as_ref().map(Namespace::enter).transpose().map_err(Error::other)?;
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }
}

fn line(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_string()),
    }
}

fn exactly(stream: &mut impl BufRead, size: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// An answer, and whether another one may follow (RFC 9112).
fn read(stream: &mut impl BufRead) -> Result<(Response, bool)> {
    let first = line(stream)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| bad(format!("`{first}` is not a status line")))?;
    let (mut size, mut chunked, mut keep, mut headers) = (0, false, true, Vec::new());
    loop {
        let header = line(stream)?;
        let Some((name, value)) = header.split_once(':') else { break };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_string());
        match (name.as_str(), value.to_ascii_lowercase().as_str()) {
            ("content-length", length) => size = length.parse().map_err(|_| bad(header.clone()))?,
            ("transfer-encoding", "chunked") => chunked = true,
            ("connection", "close") => keep = false,
            _ => {}
        }
        headers.push((name, value));
    }
    let body = match status {
        // Never has one.
        204 | 304 => Vec::new(),
        _ if chunked => chunks(stream)?,
        _ => exactly(stream, size)?,
    };
    Ok((Response { status, headers, body }, keep))
}

fn chunks(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| bad(format!("chunk of `{size}`")))?;
        body.extend(exactly(stream, size)?);
        line(stream)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_and_no_further() {
        let sized = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n";
        let both = [sized, chunked].concat();
        let mut stream = both.as_bytes();
        let (first, keep) = read(&mut stream).expect("sized");
        assert_eq!((first.status, first.json(), keep), (201, serde_json::json!({}), true));
        let (second, keep) = read(&mut stream).expect("chunked");
        assert_eq!((second.status, second.json(), keep), (200, serde_json::json!([1]), false));
        assert!(read(&mut stream).is_err());
    }
}
