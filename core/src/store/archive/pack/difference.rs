//! The difference between two contents: any number of changes, in time that grows with the size of the changes.

use std::ops::Range;

/// A part of the new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// The old content has it, at this range.
    Old(Range<usize>),
    /// Only the new content has it, at this range.
    New(Range<usize>),
}

/// The parts of `new`, in order. Parts that are equal at the beginning and at the end are found by comparison, the
/// others by the hashes of blocks of the old content, as rsync does.
pub(super) fn difference(old: &[u8], new: &[u8]) -> Vec<Part> {
    let front = common_prefix(old, new);
    let back = common_suffix(&old[front..], &new[front..]);
    let (old_end, new_end) = (old.len() - back, new.len() - back);
    let mut parts = Parts::default();
    parts.push_old(0..front);
    blocks(old, front..old_end, new, front..new_end, &mut parts);
    parts.push_old(old_end..old.len());
    parts.0
}

#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn push_old(&mut self, range: Range<usize>) {
        match self.0.last_mut() {
            _ if range.is_empty() => {}
            Some(Part::Old(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(Part::Old(range)),
        }
    }

    fn push_new(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.0.push(Part::New(range));
        }
    }
}

/// The length of a block in bytes. A reference to a shorter match would not save space.
const BLOCK: usize = 64;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Blocks are not searched for in more bytes than this: 31 MiB took 1.5 s of processor time.
const MAX_SEARCH: usize = 8 << 20;

/// Finds blocks of the old range anywhere in the new one.
fn blocks(old: &[u8], old_range: Range<usize>, new: &[u8], new_range: Range<usize>, parts: &mut Parts) {
    if old_range.len() < BLOCK || new_range.len() < BLOCK || old_range.len().max(new_range.len()) > MAX_SEARCH
    {
        return parts.push_new(new_range);
    }
    let table = Table::of(old, old_range.clone());
    let (mut done, mut at) = (new_range.start, new_range.start);
    let mut rolling = Rolling::of(&new[at..at + BLOCK]);
    loop {
        let block = &new[at..at + BLOCK];
        let found = table.find(rolling.0).filter(|place| &old[*place..*place + BLOCK] == block);
        if let Some(place) = found {
            let before = common_suffix(&old[old_range.start..place], &new[done..at]);
            let after = common_prefix(&old[place + BLOCK..old_range.end], &new[at + BLOCK..new_range.end]);
            parts.push_new(done..at - before);
            parts.push_old(place - before..place + BLOCK + after);
            at += BLOCK + after;
            done = at;
            if new_range.end - at < BLOCK {
                break;
            }
            rolling = Rolling::of(&new[at..at + BLOCK]);
        } else {
            if new_range.end - at == BLOCK {
                break;
            }
            rolling.roll(new[at], new[at + BLOCK]);
            at += 1;
        }
    }
    parts.push_new(done..new_range.end);
}

/// A rolling hash of a block.
struct Rolling(u64);

impl Rolling {
    /// `FACTOR` to the power of `BLOCK`: the weight of the byte that leaves the block.
    const GOES: u64 = {
        let (mut power, mut count) = (1u64, 0);
        while count < BLOCK {
            power = power.wrapping_mul(FACTOR);
            count += 1;
        }
        power
    };

    fn of(block: &[u8]) -> Rolling {
        Rolling(block.iter().fold(0, |hash, byte| add(hash, *byte)))
    }

    fn roll(&mut self, goes: u8, comes: u8) {
        self.0 = add(self.0, comes).wrapping_sub(Rolling::GOES.wrapping_mul(u64::from(goes) + 1));
    }
}

fn add(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(FACTOR).wrapping_add(u64::from(byte) + 1)
}

/// Offsets of the old content's blocks by hash. If two blocks have the same slot, the first one is found.
struct Table {
    slots: Vec<u32>,
    shift: u32,
}

impl Table {
    fn of(old: &[u8], range: Range<usize>) -> Table {
        let bits = (range.len() / BLOCK * 2).next_power_of_two().trailing_zeros().max(1);
        let mut table = Table { slots: vec![0; 1 << bits], shift: 64 - bits };
        for place in range.clone().step_by(BLOCK).take_while(|place| place + BLOCK <= range.end) {
            // A content is no larger than 2 GiB.
            let Ok(number) = u32::try_from(place + 1) else { break };
            let slot = table.slot(Rolling::of(&old[place..place + BLOCK]).0);
            if table.slots[slot] == 0 {
                table.slots[slot] = number;
            }
        }
        table
    }

    fn slot(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0xff51_afd7_ed55_8ccd) >> self.shift) as usize
    }

    fn find(&self, hash: u64) -> Option<usize> {
        (self.slots[self.slot(hash)] as usize).checked_sub(1)
    }
}

/// How many bytes are compared at once.
const STEP: usize = 64;

/// Compares without a branch for each byte and without `memcmp`, which compares byte by byte in musl.
fn is_equal(one: &[u8; STEP], other: &[u8; STEP]) -> bool {
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let steps = one.as_chunks::<STEP>().0.iter().zip(other.as_chunks::<STEP>().0);
    let start = steps.take_while(|(one, other)| is_equal(one, other)).count() * STEP;
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(one, other)| one == other).count()
}

fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    let steps = one.as_rchunks::<STEP>().1.iter().rev().zip(other.as_rchunks::<STEP>().1.iter().rev());
    let end = steps.take_while(|(one, other)| is_equal(one, other)).count() * STEP;
    let rest = one[..one.len() - end].iter().rev().zip(other[..other.len() - end].iter().rev());
    end + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of new bytes, after checking that the parts make up the content.
    fn new_bytes(old: &[u8], new: &[u8]) -> usize {
        let parts = difference(old, new);
        let mut made = Vec::new();
        let mut count = 0;
        for part in &parts {
            match part {
                Part::Old(range) => made.extend_from_slice(&old[range.clone()]),
                Part::New(range) => {
                    made.extend_from_slice(&new[range.clone()]);
                    count += range.len();
                }
            }
        }
        assert!(made == new, "{parts:?}");
        count
    }

    /// Messages without common parts.
    fn mailbox(messages: usize, is_read: impl Fn(usize) -> bool) -> Vec<u8> {
        let message = |number: usize| {
            let text: String =
                (0..40).map(|word| format!("{} ", (number * 7_919 + word) * 104_729)).collect();
            format!("  {{\n    \"text\": \"{text}\",\n    \"read\": {}\n  }}", is_read(number))
        };
        let messages: Vec<String> = (0..messages).map(message).collect();
        format!("[\n{}\n]", messages.join(",\n")).into_bytes()
    }

    #[test]
    fn only_an_added_message_is_new() {
        let (old, new) = (mailbox(100, |_| true), mailbox(101, |_| true));
        assert!(new_bytes(&old, &new) <= new.len() - old.len());
    }

    #[test]
    fn changed_marks_cost_a_few_bytes_each() {
        let (old, new) = (mailbox(100, |number| number < 90), mailbox(103, |number| number < 100));
        let added = new.len() - mailbox(100, |_| true).len();
        assert!(new_bytes(&old, &new) <= added + 10 * 8, "{}", new_bytes(&old, &new));
        let (old, new) = (mailbox(100, |number| number % 3 == 0), mailbox(100, |_| true));
        assert!(new_bytes(&old, &new) <= 67 * 8, "{}", new_bytes(&old, &new));
    }

    #[test]
    fn removed_and_moved_messages_cost_nothing() {
        let old = mailbox(100, |_| true);
        let (first, rest) = (&old[..old.len() / 3], &old[old.len() / 3..]);
        assert!(new_bytes(&old, &[rest, first].concat()) < 2 * BLOCK);
        assert_eq!(new_bytes(&old, rest), 0);
    }

    #[test]
    fn contents_without_common_parts_are_new() {
        assert_eq!(new_bytes(b"", b""), 0);
        assert_eq!(new_bytes(b"abc", b""), 0);
        assert_eq!(new_bytes(b"", b"abc"), 3);
        assert_eq!(new_bytes(&[b'a'; 1_000], &[b'b'; 777]), 777);
        assert_eq!(new_bytes(&[b'a'; 1_000], &[b'a'; 1_777]), 777);
    }

    #[test]
    fn the_common_ends_are_exact_at_any_length() {
        for length in 0..3 * STEP {
            let one = vec![b'a'; length];
            assert_eq!((common_prefix(&one, &one), common_suffix(&one, &one)), (length, length));
            for place in 0..length {
                let mut other = one.clone();
                other[place] = b'b';
                assert_eq!(common_prefix(&one, &other), place);
                assert_eq!(common_suffix(&one, &other), length - place - 1);
            }
        }
    }
}
