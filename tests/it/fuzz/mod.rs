//! Inputs from outside, as they are and changed at random: the files of `fuzz/corpus`, and a number of changes of them. `just fuzz`
//! lets a fuzzer search for more with the same functions; an input that broke one belongs to the corpus.

mod bash_line;
mod bundle;
mod configuration;
mod log_line;
mod notice;
mod payload;
mod query;
mod runs;
mod secret;
mod settings;
mod store;
mod team_file;
mod transcript;

use std::panic::catch_unwind;
use std::path::Path;

/// The number of changed inputs of a target.
const CHANGED: usize = 3_000;
/// The same for a target that writes files.
const CHANGED_FILES: usize = 150;

macro_rules! targets {
    ($($target:ident: $changed:expr,)*) => {
        $(#[test]
        fn $target() {
            check(stringify!($target), $target::run, $changed);
        })*
    };
}

targets! {
    bash_line: CHANGED,
    bundle: CHANGED_FILES,
    configuration: CHANGED,
    log_line: CHANGED,
    notice: CHANGED,
    payload: CHANGED,
    query: CHANGED / 10,
    secret: CHANGED,
    settings: CHANGED,
    store: CHANGED_FILES,
    team_file: CHANGED,
    transcript: CHANGED,
}

/// Runs a target on its corpus and on so many changes of it.
fn check(name: &str, run: fn(&[u8]), changed: usize) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(!corpus.is_empty(), "{} is empty", dir.display());
    let mut random = Random(name.len() as u64);
    let changes = (0..changed).map(|_| random.changed(&corpus));
    for input in corpus.iter().cloned().chain(changes) {
        if catch_unwind(|| run(&input)).is_err() {
            panic!("{name} fails for {:?}", String::from_utf8_lossy(&input));
        }
    }
}

/// Random numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// An input of the corpus with one to four changes.
    fn changed(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            let (one, other) = (self.below(input.len() + 1), self.below(input.len() + 1));
            let (from, to) = (one.min(other), one.max(other));
            match self.below(5) {
                0 if from < to => input[from] ^= 1 << self.below(8),
                1 => drop(input.drain(from..to)),
                2 => input = [&input[..to], &input[from..]].concat(),
                3 => {
                    let odd = [
                        &b"\0"[..],
                        b"\"",
                        b"\\u0000",
                        b"{",
                        b"]",
                        b"-1",
                        b"1e999",
                        b"\n",
                        b"\xff",
                        b"\xe2\x80\xae",
                    ];
                    input.splice(from..from, odd[self.below(odd.len())].iter().copied());
                }
                _ => {
                    let piece = &corpus[self.below(corpus.len())];
                    let start = self.below(piece.len());
                    input.splice(from..to, piece[start..].iter().copied().take(200));
                }
            }
        }
        input
    }
}
