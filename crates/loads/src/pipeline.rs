//! A pipeline as they are in real life: one thread writes text into a pipe, the other compresses it.

use crate::cpu_time;
use crate::work::{INCREMENT, MULTIPLIER};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, PipeReader, PipeWriter, Read, Sink, Write};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Read at a time: about a tenth of a millisecond of work.
const BLOCK: usize = 4 << 10;
/// Written at a time.
const TEXT: usize = 16 << 10;
/// Common words of English, the commonest first: text of them shrinks to about a third, as text does.
const WORDS: [&str; 64] = [
    "the", "of", "and", "to", "in", "is", "that", "was", "it", "for", "on", "are", "as", "with", "they",
    "at", "be", "this", "from", "have", "or", "by", "one", "had", "not", "but", "what", "all", "were",
    "when", "we", "there", "can", "an", "your", "which", "their", "said", "if", "will", "each", "about",
    "how", "up", "out", "them", "then", "she", "many", "some", "so", "these", "would", "other", "into",
    "has", "more", "two", "number", "people", "water", "measure", "through", "between",
];

/// The compressor, and the thread that writes.
pub(crate) struct Pipeline {
    reader: PipeReader,
    compressor: DeflateEncoder<Sink>,
    block: Vec<u8>,
    writer: JoinHandle<Duration>,
}

impl Pipeline {
    /// The writer is bound as the calling thread is.
    pub(crate) fn new(cpu: u32) -> io::Result<Pipeline> {
        let (reader, pipe) = io::pipe()?;
        let writer = thread::Builder::new().name(format!("text-{cpu}")).spawn(move || write(pipe))?;
        let compressor = DeflateEncoder::new(io::sink(), Compression::default());
        Ok(Pipeline { reader, compressor, block: vec![0; BLOCK], writer })
    }

    /// Compresses what is in the pipe, at most a block, and says how much it was.
    pub(crate) fn batch(&mut self) -> io::Result<u64> {
        let read = self.reader.read(&mut self.block)?;
        self.compressor.write_all(&self.block[..read])?;
        Ok(read as u64)
    }

    /// Ends the writer and says how much CPU time it took.
    pub(crate) fn end(self) -> Duration {
        drop(self.reader);
        self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes text until nobody reads.
fn write(mut pipe: PipeWriter) -> Duration {
    let mut random = 1;
    let mut text = Vec::with_capacity(TEXT);
    loop {
        text.clear();
        while text.len() < TEXT {
            text.extend_from_slice(word(&mut random).as_bytes());
            text.push(if random >> 60 == 0 { b'\n' } else { b' ' });
        }
        if pipe.write_all(&text).is_err() {
            return cpu_time();
        }
    }
}

/// The next word: the lesser of two draws, so that common ones are common.
fn word(random: &mut u64) -> &'static str {
    *random = random.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
    let draw = |shift: u32| (*random >> shift) as usize % WORDS.len();
    WORDS[draw(33).min(draw(41))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shrinks_as_text_does() {
        let mut pipeline = Pipeline::new(0).unwrap();
        let read: u64 = (0..256).map(|_| pipeline.batch().unwrap()).sum();
        pipeline.compressor.flush().unwrap();
        let shrunk = pipeline.compressor.total_out();
        assert!(read > 0 && (read / 5..read / 2).contains(&shrunk), "{read} {shrunk}");
        assert!(pipeline.end() > Duration::ZERO);
    }

    #[test]
    fn a_pipeline_that_nobody_used_ends() {
        Pipeline::new(0).unwrap().end();
    }
}
