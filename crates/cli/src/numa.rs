//! `tauto numa`: the map of memory nodes, and the masks by which processors count where requests were answered.

use crate::Done;
use crate::exports::Export;
use crate::terminal::{Failure, print, style_of};
use clap::{Args, Subcommand};
use host::facts::{Nodes, Platform, Topology};
use host::machine::Machine;
use host::numa;
use lab::offcore::{self, Generation};
use report::json::{OffcoreDocument, TopologyDocument, to_text};
use report::svg::numa_picture;
use report::text::{mask_lines, topology_table};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct NumaArgs {
    #[command(subcommand)]
    command: NumaCommand,
}

#[derive(Subcommand, Debug)]
enum NumaCommand {
    /// Show the memory nodes: their CPUs, packages, memory, and how far they are from each other
    Topology(TopologyArgs),
    /// Take an offcore mask apart: which requests it counts, by where they are answered
    Decode(DecodeArgs),
    /// Put an offcore mask together
    Encode(EncodeArgs),
}

#[derive(Args, Debug)]
struct TopologyArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Also draw packages, nodes, caches and CPUs, as an SVG picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Look at another machine: the directory that holds its /proc and /sys, or a recording
    #[arg(long, value_name = "DIR|FILE")]
    root: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct DecodeArgs {
    /// The mask, such as 0x20ff; for AMD the unit mask, or raw event 0xUUEE: unit mask and code
    #[arg(value_parser = offcore::parse_mask)]
    mask: u64,
    #[command(flatten)]
    form: FormArgs,
}

#[derive(Args, Debug)]
struct EncodeArgs {
    /// Requests, such as ANY_REQUEST or DEMAND_DATA_RD,DEMAND_RFO
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    request: Vec<String>,
    /// Where they are answered, such as REMOTE_DRAM
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    response: Vec<String>,
    #[command(flatten)]
    form: FormArgs,
}

/// Whose mask, and how it is shown.
#[derive(Args, Debug)]
struct FormArgs {
    /// Generation of the processor, such as nehalem, haswellx or zen4 [default: this processor's]
    #[arg(long, value_name = "GENERATION")]
    cpu: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(args: NumaArgs) -> Result<Done, Failure> {
    match args.command {
        NumaCommand::Topology(args) => topology(&args),
        NumaCommand::Decode(args) => {
            let generation = generation(args.form.cpu.as_deref())?;
            Ok(show(generation, args.mask, args.form.json))
        }
        NumaCommand::Encode(args) => {
            let generation = generation(args.form.cpu.as_deref())?;
            let mask = offcore::encode(generation, &args.request, &args.response).map_err(Failure::usage)?;
            Ok(show(generation, mask, args.form.json))
        }
    }
}

fn topology(args: &TopologyArgs) -> Result<Done, Failure> {
    let machine = match &args.root {
        Some(root) => {
            Machine::at(root).map_err(|e| Failure::usage(format!("--root {}: {e}", root.display())))?
        }
        None => Machine::this().map_err(Failure::system)?,
    };
    let topology = Topology::read(&machine).map_err(|e| match &args.root {
        Some(root) => {
            Failure::usage(format!("--root {}: its processors cannot be told: {e}", root.display()))
        }
        None => Failure::system(format!("the processors cannot be told: {e}")),
    })?;
    let picture = Export::open(args.svg.as_ref())?;
    let guest = Platform::read(&machine).guest;
    let map = numa::map(&topology, &Nodes::read(&machine), guest.as_deref());
    picture.write(|| numa_picture(&map))?;
    match args.json {
        true => print(&to_text(&TopologyDocument::new(&map))),
        false => print(&topology_table(&map, style_of(&std::io::stdout()))),
    }
    Ok(Done::Good)
}

fn show(generation: &Generation, mask: u64, json: bool) -> Done {
    let mask = offcore::decode(generation, mask);
    match json {
        true => print(&to_text(&OffcoreDocument::new(&mask))),
        false => print(&mask_lines(&mask, style_of(&std::io::stdout()))),
    }
    if mask.is_valid() { Done::Good } else { Done::Bad }
}

/// The generation that was asked for, else this processor's.
fn generation(asked: Option<&str>) -> Result<&'static Generation, Failure> {
    let all = || offcore::generations().iter().map(|g| &*g.id).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        let unknown = || Failure::usage(format!("--cpu {asked}: no such generation; there are {}", all()));
        return offcore::generation(asked).ok_or_else(unknown);
    }
    let platform = Platform::read(&Machine::this().map_err(Failure::system)?);
    let numbers: Vec<u32> = platform.cpu_version.split('-').filter_map(|n| n.parse().ok()).collect();
    let found = match (platform.vendor.known(), &numbers[..]) {
        (Some(vendor), [family, model, stepping]) => {
            offcore::of_processor(vendor, *family, *model, *stepping)
        }
        _ => None,
    };
    found.ok_or_else(|| {
        Failure::usage(format!(
            "no masks are known for this processor; name a generation by --cpu: {}",
            all()
        ))
    })
}
