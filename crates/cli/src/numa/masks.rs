//! `tauto numa decode` and `encode`: masks by which processors count where requests were answered.

use crate::Done;
use crate::terminal::{self, Failure, print};
use clap::Args;
use host::facts::Platform;
use host::machine::Machine;
use lab::offcore::{self, Generation};
use report::json::{OffcoreDocument, to_text};
use report::text::mask_lines;

#[derive(Args, Debug)]
pub(crate) struct DecodeArgs {
    /// Mask, such as 0x20ff; for AMD, the unit mask or the raw event 0xUUEE (unit mask and event code)
    #[arg(value_parser = offcore::parse_mask)]
    mask: u64,
    #[command(flatten)]
    form: FormArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EncodeArgs {
    /// Requests to count, such as ANY_REQUEST or DEMAND_DATA_RD,DEMAND_RFO
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    request: Vec<String>,
    /// Where the requests are answered, such as REMOTE_DRAM
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    response: Vec<String>,
    #[command(flatten)]
    form: FormArgs,
}

/// Whose mask, and how it is shown.
#[derive(Args, Debug)]
struct FormArgs {
    /// Processor generation, such as nehalem, haswellx or zen4 [default: this processor's]
    #[arg(long, value_name = "GENERATION")]
    cpu: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn decode(args: &DecodeArgs) -> Result<Done, Failure> {
    let generation = generation(args.form.cpu.as_deref())?;
    Ok(show(generation, args.mask, args.form.json))
}

pub(crate) fn encode(args: &EncodeArgs) -> Result<Done, Failure> {
    let generation = generation(args.form.cpu.as_deref())?;
    let mask = offcore::encode(generation, &args.request, &args.response).map_err(Failure::usage)?;
    Ok(show(generation, mask, args.form.json))
}

fn show(generation: &Generation, mask: u64, json: bool) -> Done {
    let mask = offcore::decode(generation, mask);
    match json {
        true => print(&to_text(&OffcoreDocument::new(&mask))),
        false => print(&mask_lines(&mask, terminal::style())),
    }
    if mask.is_valid() { Done::Good } else { Done::Bad }
}

/// The generation that was asked for, else this processor's.
fn generation(asked: Option<&str>) -> Result<&'static Generation, Failure> {
    let all = || offcore::generations().iter().map(|g| &*g.id).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        let unknown =
            || Failure::usage(format!("--cpu {asked}: no such generation\nhint: choose one of {}", all()));
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
            "no masks are known for this processor\nhint: name a generation with --cpu: {}",
            all()
        ))
    })
}
