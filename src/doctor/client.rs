//! Finds Claude Code and its version.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::settings::client::ClientVersion;
use crate::settings::command::find;

/// Checks the answer of `claude --version`.
pub fn check(facts: &Facts<'_>) -> Finding {
    match (&facts.asked.at, &facts.asked.answer) {
        (Some(at), ClientVersion::Known(version)) => {
            // The bare name is looked up on the search path.
            let path = at.to_str().and_then(|name| find(name, facts.env));
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
    use crate::doctor::facts::tests::facts;
    use crate::settings::client::VersionProbe;
    use crate::settings::version::Version;

    #[test]
    fn a_client_is_well_unsure_or_missing() {
        let asked = |at: Option<&str>, answer| VersionProbe { at: at.map(Into::into), answer };
        let unknown = || ClientVersion::Unknown("it hangs".to_owned());
        let verdict = |asked| {
            let mut facts = facts(Version(2, 1, 328), &[]);
            facts.asked = asked;
            check(&facts).verdict
        };
        assert_eq!(verdict(asked(Some("claude"), ClientVersion::Known(Version(2, 1, 328)))), Verdict::Ok);
        assert_eq!(verdict(asked(Some("claude"), unknown())), Verdict::Unknown);
        assert_eq!(verdict(asked(None, unknown())), Verdict::Bad);
    }

    #[test]
    fn the_documented_time_limit_is_the_one_in_use() {
        assert!(Code::Client.about().ends_with(" within ten seconds."));
        assert_eq!(crate::settings::client::TIMEOUT.as_secs(), 10);
    }
}
