//! Finds Claude Code and its version.

use super::code::Code;
use super::finding::Finding;
use crate::env::Env;
use crate::settings::client::{ClientVersion, VersionProbe};
use crate::settings::command::find;

/// Checks the answer of `claude --version`.
pub fn check(asked: &VersionProbe, env: &Env) -> Finding {
    match (&asked.at, &asked.answer) {
        (Some(at), ClientVersion::Known(version)) => {
            // The bare name is looked up on the search path.
            let path = at.to_str().and_then(|name| find(name, env));
            Finding::ok(
                Code::Client,
                format!("Claude Code {version} ({})", path.as_ref().unwrap_or(at).display()),
            )
        }
        (Some(at), ClientVersion::Unknown(why)) => {
            let version = format!("{} --version", at.display());
            Finding::unknown(Code::Client, why).with_fix(format!("run `{version}` and fix the error"))
        }
        (None, ClientVersion::Unknown(why)) => {
            Finding::bad(Code::Client, why).with_fix("install Claude Code, or add `claude` to PATH")
        }
        // The user gave the version.
        (None, ClientVersion::Known(version)) => Finding::ok(Code::Client, format!("Claude Code {version}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::settings::version::Version;

    #[test]
    fn a_client_is_well_unsure_or_missing() {
        let asked = |at: Option<&str>, answer| VersionProbe { at: at.map(Into::into), answer };
        let unknown = || ClientVersion::Unknown("it hangs".to_owned());
        let verdict = |asked| check(&asked, &Env::default()).verdict;
        assert_eq!(verdict(asked(Some("claude"), ClientVersion::Known(Version(2, 1, 328)))), Verdict::Ok);
        assert_eq!(verdict(asked(Some("claude"), unknown())), Verdict::Unknown);
        assert_eq!(verdict(asked(None, unknown())), Verdict::Bad);
    }
}
