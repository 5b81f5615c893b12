//! A report as one page for a browser: everything in one file, and nothing that it could fetch.
//!
//! The page is a frame with its parts put in: the style, the script, and the report as JSON. Whatever agents wrote
//! stands in that JSON alone, which the script shows as text only. The page's own policy allows this style and this
//! script, by their hashes, and no connection.

mod embed;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::report::Report;

/// The frame, with places for the parts in double braces.
const FRAME: &str = include_str!("page.html");

/// The look of it.
const STYLE: &str =
    concat!(include_str!("style/base.css"), include_str!("style/parts.css"), include_str!("style/print.css"));

/// What makes it move, in one scope: each file knows those before it.
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

/// Draws up the page: one file that reads without a network.
pub fn page(report: &Report) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let data = embed::json(report);
    let parts = [("policy", policy.as_str()), ("style", STYLE), ("report", &data), ("script", SCRIPT)];
    embed::fill(FRAME, &parts)
}

/// A source as a content security policy names it.
fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
