//! Names of the places in a program's code from which its memory was first written.
//!
//! Sources: proc(5), /proc/PID/maps; elf(5), program headers and symbols.

use super::fold::Trace;
use super::snapshot::Code;
use super::touch::SYSTEM_CALL;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol, ReadCache, ReadRef};
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mappings whose first writers are named, the largest ones.
const NAMED: usize = 32;

/// Names of the places that first wrote most of each large mapping, by process and address. Files are looked for where the processes saw
/// them; those that were replaced since, or are not to be seen from here, are told by path and offset only.
pub fn named(trace: &Trace) -> BTreeMap<(u32, u64), String> {
    let mut mappings: Vec<_> = trace.watched().mappings.values().collect();
    mappings.sort_by_key(|mapping| std::cmp::Reverse(mapping.by_node.values().map(|b| b.0).sum::<u64>()));
    let places: BTreeSet<(u32, u64)> = mappings
        .into_iter()
        .take(NAMED)
        .filter_map(|mapping| Some((mapping.pid, trace.touched(mapping).code?)))
        .collect();
    let name = |(pid, address): (u32, u64)| {
        if address == SYSTEM_CALL {
            return Some(((pid, address), "a system call".to_string()));
        }
        Some(((pid, address), place(trace.code_at(pid, address)?, address)))
    };
    places.into_iter().filter_map(name).collect()
}

/// `symbol+0x1c (file)`, or `0x1139 (file)` where nothing is named there.
fn place(code: &Code, address: u64) -> String {
    let offset = address - code.start + code.offset;
    let file = Path::new(&code.path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = open(code).and_then(|opened| symbol(&ReadCache::new(opened), offset));
    match found {
        Some((name, beyond)) => format!("{name}+{beyond:#x} ({file})"),
        None => format!("{offset:#x} ({file})"),
    }
}

/// The file that was mapped: not another one that has its name now, and nothing that would keep us waiting.
fn open(code: &Code) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(&code.path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.ino() == code.inode).then_some(file)
}

/// The symbol of the function at this offset of an ELF file, and how far behind its beginning that is.
fn symbol<'a, Data: ReadRef<'a>>(data: Data, offset: u64) -> Option<(String, u64)> {
    let elf = ElfFile64::<LittleEndian, Data>::parse(data).ok()?;
    let address = elf.elf_program_headers().iter().find_map(|segment| {
        let (from, length) = segment.file_range(LittleEndian);
        let inside = segment.p_type(LittleEndian) == object::elf::PT_LOAD
            && (from..from.checked_add(length)?).contains(&offset);
        inside.then(|| (offset - from).checked_add(segment.p_vaddr(LittleEndian)))?
    })?;
    // A stripped file still names what it gives to others.
    let symbols = elf.symbols().chain(elf.dynamic_symbols());
    let around = symbols.filter(|symbol| {
        let begin = symbol.address();
        symbol.kind() == object::SymbolKind::Text && begin <= address && address - begin < symbol.size()
    });
    let nearest = around.max_by_key(|symbol| symbol.address())?;
    Some((nearest.name().ok()?.to_string(), address - nearest.address()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of this very program, which `maps` tells where to find.
    #[inline(never)]
    extern "C" fn a_place_with_a_name() -> u64 {
        std::hint::black_box(41) + 1
    }

    fn own() -> (Code, u64) {
        let address = a_place_with_a_name as *const () as u64;
        assert_eq!(a_place_with_a_name(), 42);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let code = super::super::snapshot::parse_maps("", &maps).code;
        let code = code.into_iter().find(|code| (code.start..code.end).contains(&address));
        (code.expect("this program is mapped"), address)
    }

    #[test]
    fn a_place_has_its_functions_name() {
        let (code, address) = own();
        let told = place(&code, address + 1);
        assert!(told.contains("a_place_with_a_name") && told.contains("+0x1 ("), "{told}");
    }

    #[test]
    fn what_cannot_be_read_is_told_by_offset() {
        let (code, _) = own();
        let file = Path::new(&code.path).file_name().unwrap().to_string_lossy().into_owned();
        let replaced = Code { inode: code.inode + 1, ..code.clone() };
        assert_eq!(place(&replaced, code.start + 0x10), format!("{:#x} ({file})", code.offset + 0x10));
        let gone = Code { path: "/nowhere/at/all".into(), ..code.clone() };
        assert_eq!(place(&gone, code.start), format!("{:#x} (all)", code.offset));
    }

    #[test]
    fn no_elf_has_no_symbols() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &[0x7f; 4096]] {
            assert_eq!(symbol(bytes, 0), None);
        }
    }
}
