//! Keys with a well-known form: a prefix, then characters of one alphabet. And private keys as blocks of text: PEM, OpenSSH, PGP
//! and PuTTY, also with line numbers, quoted, and in program text.

use std::ops::Range;

use super::names::{is_mixed, is_placeholder, is_random};

/// Keys that begin with one of `starts` and have at least `min` characters after it.
pub(super) struct Keys {
    pub starts: &'static [&'static str],
    chars: fn(u8) -> bool,
    min: usize,
    form: Form,
}

/// The part of a key that is checked, and the part in which its end is searched before it is known to be a key.
const MAX_CHECKED: usize = 256;
const MAX_RUN: usize = 1024;

enum Form {
    /// The prefix identifies the key.
    Key,
    /// The prefix is short. A letter or a digit before it makes it part of a word.
    Word,
    /// The prefix is the address of a service, and the rest of the address is secret.
    Address,
    /// Several parts with dots between them.
    Dotted,
    /// Characters of the key come before: their number, and their alphabet.
    Before(usize, fn(u8) -> bool),
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn dotted(byte: u8) -> bool {
    url(byte) || byte == b'.'
}

fn base64(byte: u8) -> bool {
    url(byte) || matches!(byte, b'+' | b'/' | b'=' | b'.')
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

fn path(byte: u8) -> bool {
    url(byte) || matches!(byte, b'/' | b'@' | b'.' | b'%')
}

#[rustfmt::skip]
pub(super) const KEYS: &[Keys] = &[
    Keys { starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "r8_", "gsk_", "xai-", "pplx-", "lin_api_",
        "lin_oauth_", "ntn_", "nfp_", "dckr_pat_", "dckr_oat_", "glc_", "glsa_", "sbp_", "sb_secret_", "rubygems_", "bkua_", "pcsk_",
        "pnu_", "rdme_", "CCIPAT_", "CLOJARS_", "lsv2_pt_", "lsv2_sk_", "tgp_v1_", "sqp_", "squ_", "sqa_", "fo1_", "vcp_",
        "gitea_", "shippo_live_", "rzp_live_", "FLWSECK-", "FLWSECK_",
        "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", "sk-lf-"], chars: url, min: 20, form: Form::Key },
    Keys { starts: &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "GR1348941",
        "figd_", "GOCSPX-", "sq0atp-", "sq0csp-", "sq0idp-",
        "NRAK-", "NRJS-", "NRII-", "HRKU-", "PMAK-", "tskey-", "pul-", "fio-u-", "CFPAT-", "tfp_", "tvly-", "xkeysib-", "xsmtpsib-",
        "sntrys_", "sntryu_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "A3-", "ATATT3", "ATCTT3", "ATBB", "AKCp", "duffel_live_",
        "wandb_v1_", "whsec_", "ops_eyJ", "EZAK", "EZTK"], chars: base64, min: 16, form: Form::Key },
    Keys { starts: &["dop_v1_", "doo_v1_", "dor_v1_", "shpat_", "shpca_", "shppa_", "shpss_", "dapi"], chars: hex, min: 32, form: Form::Key },
    Keys { starts: &["AKIA", "ASIA", "ABIA", "ACCA"], chars: upper, min: 16, form: Form::Key },
    Keys { starts: &["AGE-SECRET-KEY-1"], chars: upper, min: 40, form: Form::Key },
    Keys { starts: &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], chars: dotted, min: 10, form: Form::Key },
    Keys { starts: &["AIza", "LTAI", "AKID", "AQVN", "EAAA"], chars: url, min: 16, form: Form::Key },
    Keys { starts: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_", "sk_prod_"], chars: alnum, min: 16, form: Form::Key },
    Keys { starts: &["pypi-AgE", "FlyV1 fm", "LS0tLS1CRUdJTiBSU0EgUFJJVkFUR", "LS0tLS1CRUdJTiBQUklWQVRF", "LS0tLS1CRUdJTiBFQyBQUklWQVRF",
        "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVE", "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFUR"], chars: base64, min: 40, form: Form::Key },
    Keys { starts: &["hvs.", "hvb.", "hvr.", "ya29.", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], chars: url, min: 20, form: Form::Key },
    Keys { starts: &["SG."], chars: dotted, min: 60, form: Form::Key },
    Keys { starts: &["sk-", "sk_", "secret_", "re_", "fc-"], chars: url, min: 16, form: Form::Word },
    Keys { starts: &["SK", "key-"], chars: hex, min: 32, form: Form::Word },
    Keys { starts: &["pat"], chars: dotted, min: 70, form: Form::Dotted },
    Keys { starts: &["cio"], chars: alnum, min: 32, form: Form::Word },
    Keys { starts: &["sl."], chars: url, min: 100, form: Form::Word },
    Keys { starts: &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/",
        "discordapp.com/api/webhooks/", "webhook.office.com/webhookb2/", "hooks.zapier.com/hooks/catch/"], chars: path, min: 20, form: Form::Address },
    // Telegram, Mailchimp, Microsoft Entra and Terraform.
    Keys { starts: &[":AA"], chars: url, min: 30, form: Form::Before(8, |byte| byte.is_ascii_digit()) },
    Keys { starts: &["-us"], chars: |byte| byte.is_ascii_digit(), min: 1, form: Form::Before(32, hex) },
    Keys { starts: &["Q~"], chars: |byte| dotted(byte) || byte == b'~', min: 31, form: Form::Before(4, |byte| dotted(byte) || byte == b'~') },
    Keys { starts: &[".atlasv1."], chars: url, min: 60, form: Form::Before(14, alnum) },
];

/// JSON Web Tokens: `eyJ` is `{"`.
pub(super) const JWT: Keys = Keys { starts: &["eyJ"], chars: dotted, min: 18, form: Form::Dotted };

/// The key whose prefix is here.
pub(super) fn find(keys: &Keys, text: &str, prefix: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let run = |from: usize| bytes[from..].iter().take_while(|byte| (keys.chars)(**byte));
    let mut end = prefix.end + run(prefix.end).take(MAX_RUN).count();
    while text[..end].ends_with(['.', '-']) && end > prefix.end {
        end -= 1;
    }
    let all = &text[prefix.end..end];
    let body = &all[..all.len().min(MAX_CHECKED)];
    if body.len() < keys.min || is_placeholder(body) {
        return None;
    }
    let start = match keys.form {
        Form::Address => return is_random(body, 16).then_some(prefix.end..end),
        Form::Before(least, chars) => {
            let before = bytes[..prefix.start].iter().rev().take_while(|byte| chars(**byte)).take(64).count();
            return (before >= least).then_some(prefix.start - before..end);
        }
        Form::Dotted if all.split_once('.').is_none_or(|(_, rest)| rest.len() < 8) => return None,
        Form::Word if !is_bounded(&bytes[..prefix.start]) && !has_all_cases(body) => return None,
        _ => prefix.start,
    };
    let is_data = text[prefix].bytes().all(alnum) && is_in_data(&bytes[..start]);
    let is_random =
        is_random(body, keys.min.min(16)) || body.len() < 20 && is_mixed(body) || has_all_cases(body);
    if is_data || !is_random {
        return None;
    }
    if all.len() + 1 >= MAX_RUN {
        end += run(end).count();
    }
    Some(start..end)
}

/// Whether a word can begin after these bytes: after a byte that is not alphabetic, or after the end of a color code or of `%20`.
fn is_bounded(before: &[u8]) -> bool {
    let last = |bytes: usize| before.len().checked_sub(bytes).and_then(|at| before.get(at));
    !last(1).is_some_and(u8::is_ascii_alphanumeric)
        || last(3) == Some(&b'%')
        || last(1) == Some(&b'm')
            && before.iter().rev().take(12).skip(1).find(|byte| !matches!(byte, b'0'..=b'9' | b';'))
                == Some(&b'[')
}

/// Whether a text mixes lower case, upper case and digits. Random letters can lack digits, but have much upper case.
fn has_all_cases(body: &str) -> bool {
    let count = |kind: fn(&u8) -> bool| body.bytes().filter(kind).count();
    let (digits, upper) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
    count(u8::is_ascii_lowercase) > 0 && upper > 0 && (digits > 0 || upper >= 5)
}

/// Whether these bytes end in the middle of encoded data, where any characters can occur.
fn is_in_data(before: &[u8]) -> bool {
    before
        .iter()
        .rev()
        .take(24)
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .count()
        == 24
}

// Blocks of private keys.

/// Shorter words can be prose.
const MIN_WORD: usize = 16;
const MAX_HEADER: usize = 80;
const MAX_LINE: usize = 200;
/// The limit of what can precede the first line of a key.
const MAX_HEADERS: usize = 1024;

/// The block whose first line begins at `start`, from its header to its end.
pub(super) fn after_header(text: &str, start: usize) -> Option<Range<usize>> {
    let header = text[start..text.floor_char_boundary(start + MAX_HEADER)].lines().next()?;
    let name = header.trim_start_matches('-');
    let dashes = name.find("----")?;
    let is_private = name.get(..dashes)?.to_ascii_uppercase();
    if !is_private.contains("PRIVATE KEY") && !is_private.contains("SSH2 ENCRYPTED") {
        return None;
    }
    let rest = &name[dashes..];
    let body = start + (header.len() - rest.len()) + rest.len() - rest.trim_start_matches('-').len();
    body_from(text, body).map(|end| start..end)
}

/// The lines of a key after a header that is not part of the secret.
pub(super) fn after_line(text: &str, start: usize) -> Option<Range<usize>> {
    let line = &text[start..text.floor_char_boundary(start + MAX_HEADER)];
    let body = start + line.find('\n')?;
    body_from(text, body).map(|end| body + 1..end)
}

/// The lines of a key whose beginning is missing, before the header of its end.
pub(super) fn before_end(text: &str, from: usize, end: usize) -> Option<Range<usize>> {
    let header = text[end..text.floor_char_boundary(end + MAX_HEADER)].lines().next()?;
    if !header.contains("PRIVATE KEY") {
        return None;
    }
    let mut start = text.get(from..end)?.rfind('\n')? + from + 1;
    // Only decoration can precede the header. A home directory becomes a tilde.
    if text[start..end].contains(|c: char| c.is_alphabetic() || c == '~') {
        return None;
    }
    let mut block = None;
    while let Some(line) = text.get(from..start.saturating_sub(1)) {
        let at = line.rfind('\n').map_or(from, |at| from + at + 1);
        let is_part =
            body_from(&text[..start], at).is_some_and(|reached| reached >= from + line.trim_end().len());
        if !is_part || at == start {
            break;
        }
        (start, block) = (at, Some(at..end));
    }
    block
}

/// The end of the base64 that begins here, with its headers and decoration; `None` if there is none.
fn body_from(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut at, mut end, mut has_body) = (start, None, false);
    while at < bytes.len() && (has_body || at - start < MAX_HEADERS) {
        let word = bytes[at..].iter().take_while(|byte| is_base64(**byte)).count();
        let (after, rest) = (at + word, &text[at + word..]);
        let text = &text[at..after];
        if word == 0 {
            if has_body && (rest.starts_with("-----END") || rest.starts_with("---- END")) {
                let line = rest.find('\n').unwrap_or(rest.len());
                let header = rest[..line].trim_start_matches('-').find("----").map_or(line, |at| at + 9);
                return Some(
                    after
                        + rest[header.min(line)..line].chars().take_while(|c| *c == '-').count()
                        + header.min(line),
                );
            }
            match rest.chars().next() {
                Some('-') if rest.starts_with("---") => break,
                Some(c) if c.is_alphanumeric() || matches!(c, '{' | '(' | '<' | '[' | '$' | '~') => break,
                c => at += c.map_or(1, char::len_utf8),
            }
        } else if word >= MIN_WORD {
            has_body = true;
            (at, end) = (after, Some(after));
        } else if rest.starts_with([':', '-']) && !rest.starts_with("--") && !has_body {
            // A header inside the block.
            let line = &rest[..rest.floor_char_boundary(MAX_LINE)];
            at += word + line.find('\n').unwrap_or(line.len());
        } else if text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'/' | b'='))
            && word <= 6
        {
            // A line number, a comment or an operator.
            at = after;
        } else if word <= 2 && rest.starts_with(['"', '\'']) {
            at = after;
        } else if has_body && is_last(rest) {
            (at, end) = (after, Some(after));
        } else {
            break;
        }
    }
    end
}

/// Whether nothing but decoration is between the last word of a key and its end.
fn is_last(rest: &str) -> bool {
    let decoration = |c: char| !c.is_alphabetic() && !matches!(c, '-' | '=' | '{' | '(');
    let rest = rest.trim_start_matches(decoration);
    rest.is_empty() || rest.starts_with("----") || rest.starts_with('=') || rest.starts_with("Private-MAC")
}
