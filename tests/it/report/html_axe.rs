//! The page against the rules of axe-core for accessible pages, with each tab: light in a wide window, dark in a narrow one.
//!
//! `TEAMKEEP_AXE` is the path of `axe.min.js` from the npm package axe-core; without it the test is skipped.

use serde_json::json;

use crate::history::traces::{ALL, play_again};
use crate::support::browser::Browser;
use crate::support::reenact::Trace;

/// Runs axe and returns the broken rules with the first element of each.
const CHECK: &str = "return axe.run(document, { resultTypes: ['violations'] }).then((result) => \
    result.violations.map((rule) => [rule.id, rule.nodes[0].html.slice(0, 300), rule.nodes[0].failureSummary]))";

#[test]
fn page_breaks_no_rule_of_axe() {
    let Some(path) = std::env::var_os("TEAMKEEP_AXE") else { return };
    let axe = std::fs::read_to_string(path).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    // The third run has an incident, blocks and messages that were never read.
    let told = play_again(Trace::read(ALL[2].0, ALL[2].1), 1);
    let page = told.sandbox.home().join("report.html");
    told.sandbox.printed(&["report", "--format", "html", "-o", page.to_str().unwrap()]);
    browser.open(&page);
    browser.run(&format!("{axe}; window.axe = axe"));
    for (width, theme) in [(1280, "light"), (390, "dark")] {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        browser.command("Emulation.setDeviceMetricsOverride", size);
        browser.run(&format!("document.querySelector('#themes [value={theme}]').click()"));
        for tab in ["board", "messages", "graph", "details"] {
            browser.go(&format!("#tab={tab}&selected=task:2"));
            assert_eq!(browser.run(CHECK), json!([]), "{tab}, {theme}, {width} px");
        }
    }
    browser.must_be_content();
}
