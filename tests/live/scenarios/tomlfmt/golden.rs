//! Formats each file of tests/golden, and compares it with the file that was checked by hand.

use std::fs;

#[test]
fn every_file_is_formatted_as_it_was_checked() {
    for entry in fs::read_dir("tests/golden/in").unwrap() {
        let path = entry.unwrap().path();
        let expected = fs::read_to_string(path.to_str().unwrap().replace("/in/", "/out/")).unwrap();
        let found = tomlfmt::format_text(&fs::read_to_string(&path).unwrap());
        assert_eq!(found, expected, "{}", path.display());
    }
}
