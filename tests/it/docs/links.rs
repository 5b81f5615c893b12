//! Links, anchors and length of the pages that people read.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::support::sandbox::below;

/// Every Markdown page for people: its path in the repository and its text.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "hooks/README.md", "plugin/README.md"]
            .iter()
            .map(|path| root.join(path))
            .collect();
    paths.extend(
        below(&root.join("docs"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|kind| kind == "md")),
    );
    let page = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_owned(), text)
    };
    paths.into_iter().map(page).collect()
}

/// The lines of a page that are not in a code block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The targets of the links and pictures of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let line = without_code(line);
        for (before, end) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
            let targets = line.split(before).skip(1).filter_map(|rest| rest.split(end).next());
            found.extend(targets.map(str::to_owned));
        }
    }
    found
}

/// The anchors of a page: its headings as GitHub and the site spell them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let title = heading.trim_start_matches('#').trim();
        let title = title.split("](").next().unwrap().replace(['[', '`'], "");
        let kept = title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        found.push(kept.replace(' ', "-"));
    }
    found
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
        path
    })
}

/// Why a link of a page leads nowhere.
fn broken(pages: &BTreeMap<PathBuf, String>, page: &Path, link: &str) -> Option<&'static str> {
    if let Some(rest) = link.strip_prefix("https://") {
        let host = rest.split('/').next().unwrap();
        let sound = host.contains('.') && !link.contains(char::is_whitespace);
        return (!sound).then_some("invalid address");
    }
    if link.contains(':') || link.starts_with('/') {
        return Some("neither https nor a relative path");
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { page.to_owned() } else { normal(&page.parent().unwrap().join(path)) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join(&target).exists() {
        return Some("no such file");
    }
    if page.starts_with("docs") && !target.starts_with("docs") {
        return Some("outside of docs/, which is all that the site has");
    }
    let anchor = anchor?;
    match pages.get(&target) {
        Some(text) if anchors(text).iter().any(|known| known == anchor) => None,
        Some(_) => Some("no such heading"),
        None => Some("an anchor in a file that is not a page"),
    }
}

#[test]
fn every_link_leads_to_a_page_and_a_heading() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (page, text) in &pages {
        for link in links(text) {
            count += 1;
            if let Some(why) = broken(&pages, page, &link) {
                wrong.push(format!("{}: {link}: {why}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count}");
}

#[test]
fn broken_links_are_found() {
    let pages = pages();
    let page = Path::new("docs/index.md");
    for link in [
        "nowhere.md",
        "../README.md",
        "reference/policy.md#nowhere",
        "#nowhere",
        "http://example.com",
        "https://a b.com",
    ] {
        assert!(broken(&pages, page, link).is_some(), "{link}");
    }
    assert_eq!(links("`[a](b)` [c](d) ![e](f.svg)\n```\n[g](h)\n```\n"), ["d", "f.svg"]);
}

#[test]
fn every_page_of_docs_is_in_the_navigation_of_the_site() {
    let site = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("zensical.toml")).unwrap();
    for page in pages().keys().filter_map(|page| page.strip_prefix("docs").ok()) {
        assert_eq!(site.matches(&format!("\"{}\"", page.display())).count(), 1, "{}", page.display());
    }
}
