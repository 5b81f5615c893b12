//! A report as a single HTML file without any network access.
//!
//! The page is a template with the style, the script, and the report as JSON. Text from agents is only in that JSON,
//! and the script inserts it only as text. The page's content security policy allows this style and this script, by
//! their hashes, and no connection.

mod embed;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::clock;
use crate::report::Report;

/// The template, with places in double braces.
const FRAME: &str = include_str!("page.html");

/// The style.
const STYLE: &str =
    concat!(include_str!("style/base.css"), include_str!("style/parts.css"), include_str!("style/print.css"));

/// The script, in one scope: each file can use those before it.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("script/dom.js"),
    include_str!("script/words.js"),
    include_str!("script/run.js"),
    include_str!("script/overview.js"),
    include_str!("script/moment.js"),
    include_str!("script/lanes.js"),
    include_str!("script/draw.js"),
    include_str!("script/timeline.js"),
    include_str!("script/board.js"),
    include_str!("script/graph.js"),
    include_str!("script/text.js"),
    include_str!("script/messages.js"),
    include_str!("script/tables.js"),
    include_str!("script/start.js"),
    "})();\n",
);

/// Builds the page.
pub fn page(report: &Report) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let data = embed::json(report);
    // The page shows times in the zone of its reader, unless UTC is asked for.
    let zone = if clock::is_utc() { "utc" } else { "local" };
    let parts = [
        ("policy", policy.as_str()),
        ("style", STYLE),
        ("report", &data),
        ("script", SCRIPT),
        ("zone", zone),
    ];
    embed::fill(FRAME, &parts)
}

/// A source as a content security policy names it.
fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
