//! Embeds parts into a page so that no part can break out of its place.

use serde::Serialize;

/// A value as JSON for a `<script>` element: no character in it is special in HTML or ends a line of JavaScript. These
/// characters occur only in strings, where an escape is equivalent.
pub fn json(value: &impl Serialize) -> String {
    // The page reports a failure.
    let plain = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut safe = String::with_capacity(plain.len() + plain.len() / 16);
    let mut rest = plain.as_str();
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        safe.push_str(&rest[..at]);
        let mut after = rest[at..].chars();
        safe.push_str(match after.next() {
            Some('<') => "\\u003c",
            Some('>') => "\\u003e",
            Some('&') => "\\u0026",
            Some('\u{2028}') => "\\u2028",
            _ => "\\u2029",
        });
        rest = after.as_str();
    }
    safe.push_str(rest);
    safe
}

/// Replaces each `{{name}}` by its part. Inserted parts are not searched again.
pub fn fill(frame: &str, parts: &[(&str, &str)]) -> String {
    let mut page =
        String::with_capacity(frame.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = frame;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        rest = match after.split_once("}}") {
            Some((name, after)) => {
                page.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, part)| part));
                after
            }
            None => after,
        };
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn no_character_of_the_data_means_anything_to_html_and_the_data_stay_the_same() {
        let text = "</script><!-- <script> &lt; \u{2028}\u{2029} é \u{202e} \\u003c";
        let safe = json(&text);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }

    #[test]
    fn a_part_that_looks_like_a_place_is_left_as_it_is() {
        let page = fill("a {{one}} b {{two}} c", &[("one", "{{two}}"), ("two", "2")]);
        assert_eq!(page, "a {{two}} b 2 c");
    }
}
