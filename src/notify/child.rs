//! Stdin and output of the processes that send notifications.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::process::Stdio;

use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Progress, Run};

/// Number of bytes of the output that are kept, for the error.
const MAX_OUTPUT_BYTES: usize = 4 << 10;

/// Waits for the process and returns its outcome and the end of its output.
pub fn wait(run: Run) -> io::Result<(Outcome, Vec<u8>)> {
    let mut output: Vec<u8> = Vec::new();
    let outcome = run.supervise(|progress| {
        if let Progress::Output(bytes) = progress {
            output.extend_from_slice(bytes);
            output.drain(..output.len().saturating_sub(MAX_OUTPUT_BYTES));
        }
        ControlFlow::Continue(())
    })?;
    Ok((outcome, output))
}

/// Creates a stdin with this content: an unnamed file, because the content can be larger than the buffer of a pipe.
pub fn stdin_of(content: &[u8]) -> Result<Stdio> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    };
    let file: io::Result<std::fs::File> = write();
    file.map(Stdio::from).map_err(|error| Error::caused("cannot create a temporary file", error))
}
