//! Reads a file in blocks of whole lines, in bounded memory.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

const BLOCK_BYTES: usize = 1 << 20;
/// The part before a block that stays readable, in bytes: the call of a tool is shortly before its result.
const CONTEXT_BYTES: usize = 256 << 10;
/// A longer line is not searched, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The end of what was read before.
    pub context: &'a [u8],
    /// Whole lines. The last line of a file can be incomplete.
    pub lines: &'a [u8],
    /// The number of lines before the block.
    pub lines_before: u64,
}

pub(super) struct Blocks<'b, R> {
    from: R,
    /// Reused for each file.
    buffer: &'b mut Vec<u8>,
    /// The present block, and the end of what was read.
    block: std::ops::Range<usize>,
    end: usize,
    lines: u64,
    /// Why the file cannot be read any further.
    pub problem: Option<io::Error>,
    is_at_end: bool,
}

impl<'b, R: Read> Blocks<'b, R> {
    pub(super) fn new(from: R, buffer: &'b mut Vec<u8>) -> Blocks<'b, R> {
        Blocks { from, buffer, block: 0..0, end: 0, lines: 0, problem: None, is_at_end: false }
    }

    /// The next block; `None` at the end, and where the file cannot be read.
    pub(super) fn next(&mut self) -> Option<Block<'_>> {
        self.lines += count_lines(&self.buffer[self.block.clone()]);
        let keep = self.block.end.saturating_sub(CONTEXT_BYTES);
        self.buffer.copy_within(keep..self.end, 0);
        self.end -= keep;
        let start = self.block.end - keep;
        let mut is_skipped = false;
        let mut searched = start;
        loop {
            self.fill(start + BLOCK_BYTES.max(2 * (self.end - start)).min(MAX_LINE_BYTES + 1));
            if is_skipped {
                // The rest of a line that is too long.
                let newline = memchr(b'\n', &self.buffer[start..self.end]);
                self.end = match newline {
                    Some(newline) => {
                        self.buffer.copy_within(start + newline + 1..self.end, start);
                        self.lines += 1;
                        is_skipped = false;
                        self.end - newline - 1
                    }
                    None => start,
                };
            }
            let newline = memrchr(b'\n', &self.buffer[searched..self.end]).map(|at| searched + at + 1);
            if let Some(end) = newline.or_else(|| self.is_at_end.then_some(self.end)) {
                self.block = start..end;
                break;
            }
            if self.end - start > MAX_LINE_BYTES {
                (self.end, is_skipped) = (start, true);
                self.buffer.truncate(start + BLOCK_BYTES);
                self.buffer.shrink_to_fit();
            }
            searched = self.end;
        }
        let context = &self.buffer[..start];
        let lines = &self.buffer[self.block.clone()];
        (!lines.is_empty()).then_some(Block { context, lines, lines_before: self.lines })
    }

    /// Reads until the buffer has this size.
    fn fill(&mut self, size: usize) {
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.end < size && !self.is_at_end {
            match self.from.read(&mut self.buffer[self.end..size]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => (self.problem, self.is_at_end) = (Some(error), true),
            }
        }
    }
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines with their numbers.
    fn read(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, usize) {
        let mut buffer = Vec::new();
        let mut blocks = Blocks::new(bytes, &mut buffer);
        let (mut lines, mut most) = (Vec::new(), 0);
        while let Some(block) = blocks.next() {
            let whole = block.lines.split_inclusive(|byte| *byte == b'\n');
            lines.extend((block.lines_before..).zip(whole.map(<[u8]>::to_vec)));
            most = most.max(block.context.len());
        }
        (lines, most)
    }

    #[test]
    fn every_line_is_read_once_whatever_its_size() {
        let mut bytes = Vec::new();
        for size in [0, 1, 5, 300_000, 700_000, 100, 3 * BLOCK_BYTES, 0, 7, CONTEXT_BYTES, BLOCK_BYTES, 1, 2]
        {
            bytes.extend(std::iter::repeat_n(b'x', size));
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"the end");
        let expected: Vec<_> =
            (0..).zip(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
        let (lines, most) = read(&bytes);
        assert!(lines == expected && most <= CONTEXT_BYTES);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_counted() {
        let long = vec![b'x'; MAX_LINE_BYTES + 3 * BLOCK_BYTES];
        let (lines, _) = read(&[b"one\n", &long[..], b"\ntwo\n", b"three"].concat());
        let expected = [(0, &b"one\n"[..]), (2, b"two\n"), (3, b"three")];
        assert!(lines == expected.map(|(number, line)| (number, line.to_vec())));
    }

    #[test]
    fn what_was_read_before_an_error_is_kept() {
        let mut buffer = Vec::new();
        let broken = (&b"one\ntw"[..]).chain(Broken);
        let mut blocks = Blocks::new(broken, &mut buffer);
        assert_eq!(blocks.next().unwrap().lines, b"one\n");
        assert_eq!(blocks.next().unwrap().lines, b"tw");
        assert!(blocks.next().is_none() && blocks.problem.is_some());
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
}
