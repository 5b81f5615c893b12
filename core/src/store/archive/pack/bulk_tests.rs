use std::io::Write as _;

use super::super::object;
use super::*;

fn put(pack: &mut Pack, text: &str) -> u64 {
    pack.put_complete(text.as_bytes(), &object::hash(text.as_bytes())).unwrap()
}

#[test]
fn many_contents_share_a_data_file_and_changes_of_them_too() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("0123456789abcdef");
    std::fs::create_dir_all(&run).unwrap();
    let large = "0123456789".repeat(1 << 10);
    let changed = format!("{large}!");
    let mut shared = Pack::new(run.clone());
    let first = put(&mut shared, &large);
    let pack = Pack::new(run.clone());
    let (bytes, hash) = (changed.as_bytes(), object::hash(changed.as_bytes()));
    pack.put(&NewContent { bytes, hash: &hash, former: Some(first), durability: Durability::Usual }).unwrap();
    let texts: Vec<String> = (0..300).map(|number| format!("{{\"id\":\"{number}\"}}")).collect();
    let places: Vec<u64> = texts.iter().map(|text| put(&mut shared, text)).collect();
    shared.sync().unwrap();
    assert_eq!(std::fs::read_dir(run.join("contents")).unwrap().count(), 1);
    let packs = Packs::new(dir.path().to_owned());
    for text in texts.iter().chain([&large, &changed]) {
        let bytes = text.as_bytes();
        assert_eq!(packs.get(&object::hash(bytes)).unwrap().unwrap(), bytes);
    }
    let mut stored = StoredContents::new(run);
    for (text, place) in texts.iter().zip(places) {
        assert!(stored.get(place).unwrap().contents_equal(text.as_bytes(), &object::hash(text.as_bytes())));
    }
}

#[test]
fn a_line_that_a_killed_writer_left_is_ended_first() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("0123456789abcdef");
    std::fs::create_dir_all(&run).unwrap();
    put(&mut Pack::new(run.clone()), "one");
    let mut recipes = std::fs::OpenOptions::new().append(true).open(run.join(RECIPES)).unwrap();
    recipes.write_all(b"[\"cut").unwrap();
    put(&mut Pack::new(run), "two");
    let packs = Packs::new(dir.path().to_owned());
    for text in ["one", "two"] {
        assert_eq!(packs.get(&object::hash(text.as_bytes())).unwrap().unwrap(), text.as_bytes());
    }
}

#[test]
fn the_number_of_synced_data_files_is_limited() {
    let mut shared = Pack::new(PathBuf::from("/nowhere"));
    let synced: Vec<u32> = (1..100).filter(|file| shared.will_sync(*file)).collect();
    assert_eq!(synced.len(), MAX_SYNCED_FILES);
    assert!(shared.will_sync(synced[0]), "it is synced anyway");
}

#[test]
fn a_link_in_the_place_of_the_data_directory_is_not_followed() {
    let (dir, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(away.path(), dir.path().join("contents")).unwrap();
    let put = Pack::new(dir.path().to_owned()).put_complete(b"one", &object::hash(b"one"));
    assert_eq!(put.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    assert_eq!(std::fs::read_dir(away.path()).unwrap().count(), 0);
}
