//! Bounded reading of a stdin that may never end.

use std::time::{Duration, Instant};

use crate::os::process::{InputSource, TimedInput};
use teamkeep_model::payload::Input;

/// Reads to the end of input, for at most `patience` in total. Bytes beyond the first `most` are read and dropped, so
/// that the writer does not get a broken pipe.
pub fn read(from: impl InputSource, most: usize, patience: Duration) -> Input {
    let start = Instant::now();
    let mut input = TimedInput::new(from);
    let mut bytes = Vec::new();
    let mut dropped = 0u64;
    // Most payloads are small, and each page of the chunk costs a page fault. The chunk is never smaller than the
    // buffer of `Stdin`.
    let mut chunk = vec![0u8; 8 * 1024];
    let problem = loop {
        let left = patience.saturating_sub(start.elapsed());
        // Also stop reading from a stdin that never ends.
        if left.is_zero() {
            break Some(format!("stdin did not end within {} ms", patience.as_millis()));
        }
        match input.read(&mut chunk, left) {
            Ok(None) => {}
            Ok(Some(0)) => break None,
            Ok(Some(count)) => {
                let kept = count.min(most - bytes.len());
                bytes.extend_from_slice(&chunk[..kept]);
                dropped += (count - kept) as u64;
                if count == chunk.len() {
                    chunk.resize(64 * 1024, 0);
                }
            }
            Err(error) => break Some(format!("cannot read stdin: {error}")),
        }
    };
    let held = problem.is_some() && dropped == 0;
    let too_much =
        (dropped > 0).then(|| format!("larger than {most} bytes; only the first {most} were recorded"));
    Input { bytes, problem: too_much.or(problem), held }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    #[test]
    fn input_is_read_up_to_its_limit_and_the_rest_is_dropped() {
        let (from, mut to) = io::pipe().unwrap();
        let writer = std::thread::spawn(move || to.write_all(&vec![b'x'; 300_000]).is_ok());
        let input = read(from, 1_000, Duration::from_secs(60));
        assert_eq!(input.bytes.len(), 1_000);
        assert_eq!(input.problem.unwrap(), "larger than 1000 bytes; only the first 1000 were recorded");
        assert!(writer.join().unwrap(), "the writer met no closed pipe");
    }

    #[test]
    fn reading_an_endless_stdin_times_out() {
        let input = read(std::fs::File::open("/dev/zero").unwrap(), 1_000, Duration::from_millis(20));
        assert_eq!(input.bytes.len(), 1_000);
        assert!(input.problem.is_some());
    }

    #[test]
    fn reading_an_open_stdin_times_out_with_the_bytes_so_far() {
        let (from, mut to) = io::pipe().unwrap();
        to.write_all(b"{\"half\"").unwrap();
        let input = read(from, 1_000, Duration::from_millis(20));
        assert_eq!(input.bytes, b"{\"half\"");
        assert_eq!(input.problem.unwrap(), "stdin did not end within 20 ms");
        drop(to);
    }
}
