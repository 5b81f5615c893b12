//! The path in `TEAMKEEP_CONFIG`.

use std::io::ErrorKind;

use super::{Code, Problem};
use crate::env::Env;

/// A problem with the path in `TEAMKEEP_CONFIG`, found before the file is read.
pub fn misnamed_file(env: &Env) -> Option<Problem> {
    let named = env.config.as_deref()?;
    let (what, hint) = if !named.is_absolute() {
        let what = "TEAMKEEP_CONFIG is not an absolute path, and hooks run in any directory";
        (what, "set TEAMKEEP_CONFIG to an absolute path, or unset it")
    } else if named.try_exists().map_or_else(|error| error.kind() == ErrorKind::NotADirectory, |there| !there)
    {
        let hint = "create it with `teamkeep config init`, or unset TEAMKEEP_CONFIG";
        ("TEAMKEEP_CONFIG names a file that does not exist", hint)
    } else {
        return None;
    };
    Some(Problem::of_file(Code::Unreadable, named, what).hint(hint))
}
