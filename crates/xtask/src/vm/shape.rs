//! The processors and memory nodes of a machine.

use std::fmt;
use std::str::FromStr;

/// What a machine may have of anything; emulation of more is too slow to be of use.
const MOST: u32 = 64;

/// How the processors of a machine hang together, written `SOCKETSxCORESxTHREADS` or `SOCKETSxCORESxTHREADSxNODES`.
/// CPUs are numbered through threads, then cores, then sockets, and shared out among the nodes in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Processor packages.
    pub sockets: u32,
    /// Cores of each.
    pub cores: u32,
    /// Hyper-threads of each core.
    pub threads: u32,
    /// Memory nodes, of equal size.
    pub nodes: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { sockets: 1, cores: 2, threads: 1, nodes: 1 }
    }
}

impl Shape {
    /// All its CPUs.
    pub fn cpus(self) -> u32 {
        self.sockets * self.cores * self.threads
    }

    /// What QEMU is to be told, with so many MiB of memory in all.
    pub(super) fn arguments(self, memory: u32) -> Vec<String> {
        let Shape { sockets, cores, threads, nodes } = self;
        let mut arguments = vec!["-m".into(), format!("{memory}M"), "-smp".into()];
        arguments.push(format!("{},sockets={sockets},cores={cores},threads={threads}", self.cpus()));
        if nodes == 1 {
            return arguments;
        }
        let each = self.cpus() / nodes;
        for node in 0..nodes {
            let (first, last) = (node * each, (node + 1) * each - 1);
            arguments.push("-object".into());
            arguments.push(format!("memory-backend-ram,id=node{node},size={}M", memory / nodes));
            arguments.push("-numa".into());
            arguments.push(format!("node,nodeid={node},cpus={first}-{last},memdev=node{node}"));
        }
        for (from, to) in (0..nodes).flat_map(|from| (from + 1..nodes).map(move |to| (from, to))) {
            arguments.push("-numa".into());
            // The usual figures of firmware: 10 is the node itself (ACPI, "System Locality Information Table").
            arguments.push(format!("dist,src={from},dst={to},val=20"));
        }
        arguments
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let numbers: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
        let shape = match numbers.as_deref() {
            Ok(&[sockets, cores, threads]) => Shape { sockets, cores, threads, nodes: 1 },
            Ok(&[sockets, cores, threads, nodes]) => Shape { sockets, cores, threads, nodes },
            _ => return Err("must be SOCKETSxCORESxTHREADS or SOCKETSxCORESxTHREADSxNODES".into()),
        };
        let Shape { sockets, cores, threads, nodes } = shape;
        if [sockets, cores, threads, nodes].iter().any(|n| !(1..=MOST).contains(n)) || shape.cpus() > MOST {
            return Err(format!("must have at least one and at most {MOST} of everything"));
        }
        if shape.cpus() % nodes != 0 {
            return Err(format!("{} CPUs cannot be shared out evenly among {nodes} nodes", shape.cpus()));
        }
        Ok(shape)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}x{}", self.sockets, self.cores, self.threads, self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        for (text, shown, cpus) in
            [("1x2x1", "1x2x1x1", 2), ("2x2x2x2", "2x2x2x2", 8), ("1x1x1x1", "1x1x1x1", 1)]
        {
            let shape: Shape = text.parse().expect(text);
            assert_eq!((shape.to_string().as_str(), shape.cpus()), (shown, cpus));
        }
        for bad in ["", "2", "2x2", "2x2x0", "2x2x2x2x2", "2x2xa", "65x1x1", "8x8x2", "1x3x1x2", "-1x1x1"] {
            assert!(bad.parse::<Shape>().is_err(), "{bad}");
        }
    }

    #[test]
    fn told_to_the_emulator() {
        let told = |shape: &str| shape.parse::<Shape>().expect(shape).arguments(2048).join(" ");
        assert_eq!(told("1x2x1"), "-m 2048M -smp 2,sockets=1,cores=2,threads=1");
        assert_eq!(
            told("2x2x2x2"),
            "-m 2048M -smp 8,sockets=2,cores=2,threads=2 \
             -object memory-backend-ram,id=node0,size=1024M -numa node,nodeid=0,cpus=0-3,memdev=node0 \
             -object memory-backend-ram,id=node1,size=1024M -numa node,nodeid=1,cpus=4-7,memdev=node1 \
             -numa dist,src=0,dst=1,val=20"
        );
    }
}
