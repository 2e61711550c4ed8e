//! What the caller and the launcher say to each other: one JSON document in one packet, descriptors beside it.

use crate::{Counted, SandboxError};
use model::{BoxId, Bytes, Found, Observation, RunSpec, Slot};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Largest document: arguments and environment of a run included.
pub(crate) const PACKET: usize = 192 << 10;
/// Most descriptors beside one document (SCM_MAX_FD of the kernel is 253).
pub(crate) const FDS: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// First message: where the launcher itself should run, the slot it serves, and what it counts. Its descriptors are held until
    /// nothing of the slot is left.
    Hello {
        housekeeping: Vec<u32>,
        slot: Option<Slot>,
        counted: Counted,
    },
    CreateBox {
        size: Bytes,
    },
    /// With the content as the only descriptor.
    Put {
        id: BoxId,
        path: String,
        executable: bool,
    },
    /// Answered with a descriptor, if there is such a file.
    Fetch {
        id: BoxId,
        path: String,
    },
    List {
        id: BoxId,
    },
    Remove {
        id: BoxId,
        path: String,
    },
    DropBox {
        id: BoxId,
    },
    /// With the descriptors the spec refers to.
    Run {
        serial: u64,
        spec: Box<RunSpec>,
    },
    /// Ends the run of this serial, if it is still going on. Not answered.
    EndRun {
        serial: u64,
        output: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Ready(Capabilities),
    Box(BoxId),
    Done,
    /// What was found; a descriptor comes along with a file.
    File(Found<()>),
    Files(Vec<String>),
    Observed(Box<Observation>),
    Failed(SandboxError),
}

/// What the launcher found it can do on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// It has root's privilege rather than that of a user namespace.
    pub privileged: bool,
    /// User of the runs, as seen on the host.
    pub uid: u32,
    /// Memory of a whole tree can be limited and its peak read.
    pub memory_of_tree: bool,
    /// CPU time of a whole tree can be read.
    pub cpu_of_tree: bool,
    /// Protections and measurements that are not in force, in words. Empty at full strength.
    pub weaker: Vec<String>,
}

pub(crate) fn send(socket: impl AsFd, message: &impl Serialize, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(io::Error::other)?;
    if bytes.len() > PACKET {
        return Err(io::Error::new(
            io::ErrorKind::ArgumentListTooLong,
            "the arguments and environment are too long",
        ));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {FDS} descriptors")));
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map(drop).map_err(io::Error::from),
        }
    }
}

/// The next document, or `None` when the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let n = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(None),
            other => break other?.bytes,
        }
    };
    if n == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    serde_json::from_slice(&buffer[..n]).map(|m| Some((m, fds))).map_err(io::Error::other)
}
