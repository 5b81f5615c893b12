//! A report as a single HTML file without any network access.
//!
//! The page is a template with the style, the script, and the report as JSON. Text from agents is only in that JSON,
//! and the script inserts it only as text. The page's content security policy allows this style and this script, by
//! their hashes, and no connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use teamkeep_history::report::Report;
use teamkeep_model::time;

/// The template, with places in double braces.
const FRAME: &str = include_str!("page.html");

const STYLE: &str = concat!(
    include_str!("style/base.css"),
    include_str!("style/parts.css"),
    include_str!("style/workbench.css"),
    include_str!("style/messages.css"),
    include_str!("style/print.css")
);

/// The script, in one scope: each file can use those before it.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("script/dom.js"),
    include_str!("script/words.js"),
    include_str!("script/run.js"),
    include_str!("script/overview.js"),
    include_str!("script/groups.js"),
    include_str!("script/incidents.js"),
    include_str!("script/unfinished.js"),
    include_str!("script/moment.js"),
    include_str!("script/scale.js"),
    include_str!("script/selection.js"),
    include_str!("script/lanes.js"),
    include_str!("script/arrows.js"),
    include_str!("script/draw.js"),
    include_str!("script/timeline.js"),
    include_str!("script/steer.js"),
    include_str!("script/map.js"),
    include_str!("script/range.js"),
    include_str!("script/cost.js"),
    include_str!("script/board.js"),
    include_str!("script/graph.js"),
    include_str!("script/query.js"),
    include_str!("script/markdown.js"),
    include_str!("script/text.js"),
    include_str!("script/reading.js"),
    include_str!("script/messages.js"),
    include_str!("script/tables.js"),
    include_str!("script/details.js"),
    include_str!("script/pane.js"),
    include_str!("script/fragment.js"),
    include_str!("script/paper.js"),
    include_str!("script/start.js"),
    "})();\n",
);

pub fn page(report: &Report) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let data = json(report);
    // The page shows times in the zone of its reader, unless UTC is asked for.
    let zone = if time::is_utc() { "utc" } else { "local" };
    let parts = [
        ("policy", policy.as_str()),
        ("style", STYLE),
        ("report", &data),
        ("script", SCRIPT),
        ("zone", zone),
    ];
    fill(FRAME, &parts)
}

/// A source as a content security policy names it.
fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}

/// A value as JSON for a `<script>` element: no character in it is special in HTML or ends a line of JavaScript. These
/// characters occur only in strings, where an escape is equivalent.
fn json(value: &impl Serialize) -> String {
    const SPECIAL: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    // The page reports a failure.
    let plain = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut safe = String::with_capacity(plain.len() + plain.len() / 16);
    for part in plain.split_inclusive(SPECIAL) {
        let text = part.trim_end_matches(SPECIAL);
        safe.push_str(text);
        safe.extend(part[text.len()..].chars().map(|c| format!("\\u{:04x}", u32::from(c))));
    }
    safe
}

/// Replaces each `{{name}}` by its part. Inserted parts are not searched again.
fn fill(frame: &str, parts: &[(&str, &str)]) -> String {
    let mut pieces = frame.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        page.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, part)| part));
        page.push_str(rest);
    }
    page
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn json_for_html_has_no_special_characters_and_keeps_its_value() {
        let text = "</script><!-- <script> &lt; \u{2028}\u{2029} é \u{202e} \\u003c";
        let safe = json(&text);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }

    #[test]
    fn inserted_parts_are_not_searched_for_places() {
        let page = fill("a {{one}} b {{two}} c", &[("one", "{{two}}"), ("two", "2")]);
        assert_eq!(page, "a {{two}} b 2 c");
    }
}
