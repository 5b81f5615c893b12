//! Copies an object to a file, for `teamkeep import s3://…`.

use std::path::Path;

use teamkeep::context::Context;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::fs;

use crate::objects::Objects;
use crate::setup::profiles;

pub fn fetch(context: &Context, address: &str, output: &Path) -> Result<()> {
    let objects = Objects::open(address, &profiles(context))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let content = runtime.block_on(objects.read(""))?;
    fs::write_atomic(output, &content)
        .map_err(|error| Error::caused(format!("cannot write {}", output.display()), error))
}
