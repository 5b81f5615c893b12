//! The texts of messages on the page: Markdown, links to tasks, conversations.

use serde_json::json;

use super::html::{at, empty, letter, show, tab, task};

#[test]
fn markdown_of_a_message_is_built_from_elements() {
    let mut report = empty();
    let text = "# Result of #1\n\nThe **parser** is *done*, see `parse()` and #9.\n- one\n  - two #1\n1. first\n\n\
        > a quote\n> goes on\n\n```rust\nlet **a** = 1; // #1\n```\n| a | b |\n[link](https://example.org) a_b_c 2*3*4";
    report["mail"]["messages"] = json!([letter(1, "alice", "bob", text)]);
    report["tasks"] = json!([task(1, "Draft", &[])]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let blocks = browser.run(
        "return [...document.querySelectorAll('#reading .prose > *')].map((block) => [block.tagName, block.textContent])",
    );
    let expected = json!([
        ["P", "Result of #1"],
        ["P", "The parser is done, see parse() and #9."],
        ["UL", "• one• two #11. first"],
        ["BLOCKQUOTE", "a quote\ngoes on"],
        ["PRE", "let **a** = 1; // #1"],
        ["PRE", "| a | b |"],
        ["P", "[link](https://example.org) a_b_c 2*3*4"],
    ]);
    assert_eq!(blocks, expected);
    let count = |selector: &str| {
        browser.run(&format!("return document.querySelectorAll('#reading .prose {selector}').length"))
    };
    assert_eq!([count("strong"), count("em"), count("code"), count("a")], [1, 1, 1, 0].map(|n| json!(n)));
    assert_eq!(count("button"), 2);
    browser.run("document.querySelector('#reading .prose button').click()");
    assert_eq!(browser.text("#details-title"), "Task #1 Draft");
    browser.must_be_content();
}

#[test]
fn endless_markers_are_drawn_at_once() {
    let mut report = empty();
    let texts = ["*", "`", "[", "> ", "- ", "#", "**a", "*a `b ", "```\nx\n", "1. a\n", "|"]
        .map(|text| text.repeat(20_000));
    let letters = texts.iter().enumerate().map(|(second, text)| letter(second, "alice", "bob", text));
    report["mail"]["messages"] = letters.collect();
    report["tasks"] = json!([task(1, "Draft", &[])]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    for index in 0..texts.len() {
        browser.run(&format!("document.getElementById('message-{index}').click()"));
        assert_ne!(browser.text("#reading .text"), "");
        browser.run("document.getElementById('list').scrollTop += 46");
        browser.run("return new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))");
    }
    browser.must_be_content();
}

#[test]
fn conversations_are_listed_together_and_a_task_finds_its_messages() {
    let mut report = empty();
    report["mail"]["messages"] = json!([
        letter(1, "alice", "bob", "Is #1 done?"),
        letter(2, "carol", "alice", "task 12 is next"),
        letter(3, "bob", "alice", "Yes, task 1 is."),
        letter(4, "carol", "*", "{\"taskId\":\"1\"}"),
    ]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    let rows = || {
        browser.run(
            "return [...document.querySelectorAll('.row-head, .row .when')].sort((a, b) => \
             a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((row) => row.textContent)",
        )
    };
    assert_eq!(
        rows(),
        json!([
            "alice ↔ bob 2 messages",
            "0:01",
            "0:03",
            "carol ↔ alice 1 message",
            "0:02",
            "carol → everyone 1 message",
            "0:04"
        ])
    );
    assert_eq!(browser.text("#reading .after"), "0:03 bob Yes, task 1 is.");
    browser.run("document.querySelector('#reading .neighbour').click()");
    assert_eq!(browser.text("#reading .text"), "Yes, task 1 is.");
    assert_eq!(browser.text("#reading .before"), "0:01 alice Is #1 done?");
    browser.run("document.getElementById('grouped').click()");
    assert_eq!(rows(), json!(["0:01", "0:02", "0:03", "0:04"]));
    let search = "const s = document.getElementById('search'); s.value = 'task:1'; s.dispatchEvent(new Event('input'))";
    browser.run(search);
    assert_eq!(rows(), json!(["0:01", "0:03", "0:04"]));
    browser.must_be_content();
}

#[test]
fn endless_titles_are_cut() {
    let mut report = empty();
    let endless = "\u{202e}x ".repeat(100_000);
    let mut message = letter(1, "alice", "bob", "short");
    message["summary"] = json!(endless);
    report["mail"]["messages"] = json!([message]);
    report["tasks"] = json!([task(1, &endless, &[])]);
    report["observations"] = json!([{
        "code": "unfinished", "at": at(5), "who": "alice", "task": "1", "what": endless,
    }]);
    let Some((browser, _dir)) = show(report) else { return };
    tab(&browser, "messages");
    for selector in ["#observations-list li", "#reading .pairs", ".card", ".row .gist"] {
        let length = browser.text(selector).chars().count();
        assert!((50..6_000).contains(&length), "{selector}: {length}");
    }
    assert!(browser.text("#observations-list li bdi").ends_with('\u{2026}'));
    browser.must_be_content();
}
