//! `tauto numa topology`: the map of memory nodes.

use crate::Done;
use crate::exports::Exports;
use crate::terminal::{self, Failure, print};
use clap::Args;
use host::facts::{Nodes, Platform, Topology};
use host::machine::Machine;
use host::numa;
use report::json::{TopologyDocument, to_text};
use report::svg::numa_picture;
use report::text::topology_table;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct TopologyArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write an SVG drawing of packages, nodes, caches and CPUs to FILE
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Check a recorded machine: a file of `tauto audit --record`, or a directory with its /proc and /sys
    #[arg(long, value_name = "DIR|FILE")]
    root: Option<PathBuf>,
}

pub(crate) fn main(args: &TopologyArgs) -> Result<Done, Failure> {
    let machine = match &args.root {
        Some(root) => {
            Machine::at(root).map_err(|e| Failure::usage(format!("--root {}: {e}", root.display())))?
        }
        None => Machine::this().map_err(Failure::system)?,
    };
    let topology = Topology::read(&machine).map_err(|e| match &args.root {
        Some(root) => {
            Failure::usage(format!("--root {}: its processors cannot be read: {e}", root.display()))
        }
        None => Failure::system(format!("the processors cannot be read: {e}")),
    })?;
    let picture = Exports::open(args.json, [("--svg", args.svg.as_ref())])?;
    let guest = Platform::read(&machine).guest;
    let map = numa::map(&topology, &Nodes::read(&machine), guest.as_deref());
    match args.json {
        true => print(&to_text(&TopologyDocument::new(&map))),
        false => picture.print(&topology_table(&map, terminal::style())),
    }
    picture.write([&|| numa_picture(&map)]);
    Ok(Done::Good)
}
