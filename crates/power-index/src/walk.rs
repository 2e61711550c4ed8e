//! Walks through memory in which each read waits for the one before, in an order that prefetchers cannot guess.
//!
//! - Of every two neighbouring lines of 64 bytes one, at random, is visited: processors fetch lines in such pairs.
//! - The order is random. It goes through windows of some pages, in each of which the lines come in random order: few
//!   enough for the translations of all their pages to be known after the first visits, and more than there are streams
//!   that a prefetcher follows. So a page's translation is looked up in the page tables once in 32 visits at most, and
//!   by the second level of translation caches (some cycles) in most others. Which pages make a window is random too.

use stats::Random;

/// Bytes of a pair of lines.
const PAIR: usize = 128;
/// Bytes of a page.
const PAGE: usize = 4096;
/// Words of a line, of a pair of lines and of a page.
const LINE_WORDS: usize = 8;
const PAIR_WORDS: usize = PAIR / 8;
const PAGE_WORDS: usize = PAGE / 8;
/// Pages of a window. Translation caches hold 1024 pages and more at their second level (Intel since Haswell, AMD since
/// Zen), prefetchers follow 32 to 64 pages.
const WINDOW: usize = 256;

/// A buffer, and the place that was reached in it.
pub(crate) struct Walk {
    /// At each place that is visited, the number of the word that is visited next.
    words: Vec<u64>,
    at: u64,
}

impl Walk {
    /// Through so many bytes, rounded down to whole pages, at least one; `None` where there is no memory for it. The memory
    /// comes from the node of the CPU that the calling thread is on.
    pub(crate) fn new(bytes: usize) -> Option<Walk> {
        let pages = (bytes / PAGE).max(1);
        let mut words: Vec<u64> = Vec::new();
        words.try_reserve_exact(pages * PAGE_WORDS).ok()?;
        words.resize(pages * PAGE_WORDS, 0);
        let mut random = Random::new(0x7461_7574);
        let mut order: Vec<u32> = (0..pages).filter_map(|page| u32::try_from(page).ok()).collect();
        random.shuffle(&mut order);
        let mut window = Vec::with_capacity(WINDOW * PAGE / PAIR);
        let mut last: Option<usize> = None;
        let mut first = 0;
        for pages in order.chunks(WINDOW) {
            window.clear();
            for page in pages {
                let page = *page as usize * PAGE_WORDS;
                let half = |random: &mut Random| (random.bits() as usize & 1) * LINE_WORDS;
                window.extend((0..PAGE / PAIR).map(|pair| page + pair * PAIR_WORDS + half(&mut random)));
            }
            random.shuffle(&mut window);
            for place in &window {
                match last {
                    Some(last) => words[last] = *place as u64,
                    None => first = *place,
                }
                last = Some(*place);
            }
        }
        words[last.unwrap_or(first)] = first as u64;
        Some(Walk { words, at: first as u64 })
    }

    /// Goes on by so many reads.
    #[inline(never)]
    pub(crate) fn steps(&mut self, steps: usize) {
        let mut at = self.at as usize;
        for _ in 0..steps {
            at = self.words[at] as usize;
        }
        self.at = std::hint::black_box(at) as u64;
    }

    /// Reads all that are visited in one round.
    pub(crate) fn once(&self) -> usize {
        self.words.len() / PAIR_WORDS
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// All of it, to be read from one end to the other.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_walk_visits_one_line_of_each_pair_once() {
        for bytes in [0, PAGE, 3 * PAGE + 5, (WINDOW + 7) * PAGE] {
            let walk = Walk::new(bytes).unwrap();
            assert_eq!(walk.bytes(), (bytes / PAGE).max(1) * PAGE);
            let (mut at, mut pairs) = (walk.at as usize, BTreeSet::new());
            for _ in 0..walk.once() {
                assert!(pairs.insert(at / PAIR_WORDS), "{bytes}: pair of {at} twice");
                assert_eq!(at % LINE_WORDS, 0);
                at = walk.words[at] as usize;
            }
            assert_eq!(at, walk.at as usize, "{bytes}: no circle");
        }
        assert!(Walk::new(usize::MAX / 2).is_none());
    }

    #[test]
    fn within_a_window_no_order_is_kept() {
        let walk = Walk::new(WINDOW * PAGE).unwrap();
        let mut at = walk.at as usize;
        let near = (0..walk.once())
            .filter(|_| {
                let from = at;
                at = walk.words[from] as usize;
                from.abs_diff(at) < PAGE_WORDS
            })
            .count();
        // By chance two visits of 256 are to the same page or its neighbours.
        assert!(near < walk.once() / 50, "{near} of {}", walk.once());
    }
}
