//! What a program and its interactor say to each other, for people.
//!
//! Listening costs time, so it is done in a run of its own, after the verdict: what lies between the programs then are two
//! threads of this process, and nothing of that run counts.

use model::{Nanos, Speaker, Transcript, Turn};
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most bytes of a conversation that are kept.
const BYTES: usize = 4096;
/// Most times that the word passes from one to the other.
const TURNS: usize = 200;

/// Listens to a conversation as it goes on.
pub(crate) struct Listener {
    begun: Instant,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    /// Who spoke, when, and what.
    turns: Vec<(Speaker, Nanos, Vec<u8>)>,
    kept: usize,
    left_out: u64,
}

impl Listener {
    pub(crate) fn new() -> Listener {
        Listener { begun: Instant::now(), heard: Mutex::default() }
    }

    /// Hands on everything that is said until its speaker ends. A listener who has left is spoken to no more.
    pub(crate) fn relay(&self, who: Speaker, mut from: File, to: File) {
        let mut to = Some(to);
        let mut space = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut space) {
            let said = &space[..n];
            let at = u64::try_from(self.begun.elapsed().as_nanos()).map_or(Nanos(u64::MAX), Nanos);
            // Before it can be answered, so that the order is that of the conversation.
            self.heard().note(who, at, said);
            to = to.filter(|file| (&*file).write_all(said).is_ok());
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said so far.
    pub(crate) fn transcript(&self) -> Transcript {
        let heard = self.heard();
        let turns = heard.turns.iter().map(|(from, at, said)| Turn {
            from: *from,
            at: *at,
            text: String::from_utf8_lossy(said).into_owned(),
        });
        Transcript { turns: turns.collect(), left_out_bytes: heard.left_out }
    }
}

/// Who said what and when, a line each; control characters are escaped.
pub(crate) fn text(transcript: &Transcript) -> String {
    let mut text = format!("conversation, of one more run after the verdict (at most {BYTES} bytes):\n");
    for turn in &transcript.turns {
        let who = match turn.from {
            Speaker::Program => "program   ",
            Speaker::Interactor => "interactor",
        };
        let at = turn.at.0 as f64 / 1e6;
        turn.text.lines().for_each(|line| text += &format!("{at:>9.1} ms {who} | {}\n", escaped(line)));
    }
    match (transcript.turns.is_empty(), transcript.left_out_bytes) {
        (true, 0) => text += "neither program wrote anything\n",
        (_, 0) => {}
        (_, more) => text += &format!("… and {more} more bytes\n"),
    }
    text
}

impl Heard {
    fn note(&mut self, who: Speaker, at: Nanos, said: &[u8]) {
        let same = self.turns.last().is_some_and(|(last, ..)| *last == who);
        // What follows a gap would read as if it were an answer.
        let full = self.left_out > 0 || (!same && self.turns.len() == TURNS);
        let room = if full { 0 } else { said.len().min(BYTES - self.kept) };
        self.kept += room;
        self.left_out += (said.len() - room) as u64;
        let kept = said[..room].to_vec();
        match self.turns.last_mut().filter(|_| same) {
            _ if kept.is_empty() => {}
            Some((_, _, said)) => said.extend(kept),
            None => self.turns.push((who, at, kept)),
        }
    }
}

/// Without what would steer a terminal or turn the order in which text is read (UAX #9).
fn escaped(line: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut text = String::new();
    for c in line.chars() {
        match c.is_control() || turns(c) {
            true => text.extend(c.escape_default()),
            false => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;

    fn noted(turns: &[(Speaker, &[u8])]) -> String {
        let listener = Listener::new();
        for (who, said) in turns {
            listener.heard().note(*who, Nanos(1_500_000), said);
        }
        text(&listener.transcript()).split_once('\n').unwrap().1.to_owned()
    }

    #[test]
    fn a_conversation_is_told_in_order_and_escaped() {
        let (program, interactor) = (Speaker::Program, Speaker::Interactor);
        let text =
            noted(&[(interactor, b"4\n"), (program, b"\x1b[2J"), (program, "8\u{202e}\n9\n".as_bytes())]);
        let at = "      1.5 ms";
        let expected =
            format!("{at} interactor | 4\n{at} program    | \\u{{1b}}[2J8\\u{{202e}}\n{at} program    | 9\n");
        assert_eq!(text, expected);
        assert_eq!(noted(&[]), "neither program wrote anything\n");
    }

    #[test]
    fn a_transcript_has_the_text_itself_in_one_turn_for_each_side() {
        let listener = Listener::new();
        let said = [
            (Speaker::Program, &b"\x1b[2J"[..]),
            (Speaker::Program, b"\xff\n"),
            (Speaker::Interactor, b"1\n"),
        ];
        for (at, (who, said)) in (1..).zip(said) {
            listener.heard().note(who, Nanos(at), said);
        }
        let turn = |from, at, text: &str| Turn { from, at: Nanos(at), text: text.into() };
        let turns =
            vec![turn(Speaker::Program, 1, "\u{1b}[2J\u{fffd}\n"), turn(Speaker::Interactor, 3, "1\n")];
        assert_eq!(listener.transcript(), Transcript { turns, left_out_bytes: 0 });
    }

    #[test]
    fn floods_are_cut_and_counted() {
        let flood = vec![b'x'; BYTES];
        let text = noted(&[(Speaker::Program, &flood), (Speaker::Program, &flood)]);
        assert!(text.ends_with(&format!("… and {BYTES} more bytes\n")), "{text}");
        let turns = [Speaker::Program, Speaker::Interactor].map(|who| (who, b"1\n".as_slice()));
        let text = noted(&turns.repeat(TURNS));
        assert_eq!(text.lines().count(), TURNS + 1);
        assert!(text.ends_with(&format!("… and {} more bytes\n", 2 * TURNS)), "{text}");
    }

    #[test]
    fn what_is_relayed_arrives_whole_although_the_listener_leaves() {
        let heard = Listener::new();
        let file = |end: std::os::fd::OwnedFd| File::from(end);
        let (from, mut speaker) = pipe().unwrap();
        let (mut listener, to) = pipe().unwrap();
        speaker.write_all(b"7\n").unwrap();
        drop(speaker);
        heard.relay(Speaker::Program, file(from.into()), file(to.into()));
        let mut arrived = String::new();
        listener.read_to_string(&mut arrived).unwrap();
        assert_eq!(arrived, "7\n");
        let (from, mut speaker) = pipe().unwrap();
        let (listener, to) = pipe().unwrap();
        drop(listener);
        speaker.write_all(b"8\n").unwrap();
        drop(speaker);
        heard.relay(Speaker::Program, file(from.into()), file(to.into()));
        let transcript = heard.transcript();
        assert_eq!(transcript.turns[0].text, "7\n8\n");
        assert!(text(&transcript).contains("program    | 8\n"), "{transcript:?}");
    }
}
