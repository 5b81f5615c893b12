use proptest::prelude::*;

use super::super::object;
use super::*;

/// A store with one run in it.
struct Stage(tempfile::TempDir);

impl Stage {
    fn new() -> Stage {
        Stage(tempfile::tempdir().unwrap())
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("0123456789abcdef")
    }

    fn put(&self, bytes: &[u8], former: Option<u64>) -> u64 {
        let hash = object::hash(bytes);
        std::fs::create_dir_all(self.run()).unwrap();
        let new = NewContent { bytes, hash: &hash, former, durability: Durability::Usual };
        Pack::new(self.run()).put(&new).unwrap()
    }

    /// Reads a content by its hash only, with a new reader.
    fn get(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        Packs::new(self.0.path().to_owned()).get(&object::hash(bytes)).map(Result::unwrap)
    }

    fn size(&self) -> u64 {
        let mut files = vec![self.run().join(RECIPES)];
        files
            .extend(std::fs::read_dir(self.run().join("contents")).unwrap().map(|file| file.unwrap().path()));
        files.iter().map(|file| file.metadata().unwrap().len()).sum()
    }
}

/// A text without repetitions.
fn text(number: usize, size: usize) -> String {
    let mut text = String::new();
    for word in 0.. {
        if text.len() >= size {
            break;
        }
        text.push_str(blake3::hash(format!("{number} {word}").as_bytes()).to_hex().as_str());
    }
    text.truncate(size);
    text
}

fn mailbox(messages: usize, read: usize, size: usize) -> Vec<u8> {
    let message = |number| {
        let (text, read) = (text(number, size), number < read);
        format!("  {{\n    \"from\": \"a\",\n    \"text\": \"{text}\",\n    \"read\": {read}\n  }}")
    };
    let messages: Vec<String> = (0..messages).map(message).collect();
    format!("[\n{}\n]", messages.join(",\n")).into_bytes()
}

#[test]
fn a_growing_mailbox_costs_only_its_new_bytes() {
    let stage = Stage::new();
    let mut place = None;
    let mut all = Vec::new();
    for number in 1..=60 {
        // Three messages arrive, then all are marked as read.
        for read in [number - 1, number] {
            if read == number - 1 || number % 3 == 0 {
                let read = read / 3 * 3;
                let state = mailbox(number, read, 1_000);
                place = Some(stage.put(&state, place));
                all.push(state);
            }
        }
    }
    let last = all.last().unwrap().len() as u64;
    assert!(stage.size() < last * 13 / 10, "{} of {last}", stage.size());
    let packs = Packs::new(stage.0.path().to_owned());
    for state in &all {
        assert!(packs.get(&object::hash(state)).unwrap().unwrap() == *state);
    }
    assert!(StoredContents::new(stage.run()).chain(place.unwrap()).unwrap().len() < 50);
}

#[test]
fn the_same_content_again_costs_nothing() {
    let stage = Stage::new();
    let state = mailbox(10, 3, 500);
    let first = stage.put(&state, None);
    let before = stage.size();
    assert_eq!(stage.put(&state, Some(first)), first);
    assert_eq!(stage.size(), before);
}

#[test]
fn rests_of_killed_writers_damage_no_content() {
    let stage = Stage::new();
    let one = mailbox(10, 0, 500);
    let place = stage.put(&one, None);
    let append = |path: &str, bytes: &[u8]| {
        let mut file = std::fs::OpenOptions::new().append(true).open(stage.run().join(path)).unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
    };
    append("contents/1", b"half of a message");
    append(RECIPES, b"[\"0123");
    assert_eq!(stage.get(&one).unwrap(), one);
    let two = mailbox(11, 10, 500);
    let place = stage.put(&two, Some(place));
    let three = mailbox(12, 11, 500);
    stage.put(&three, Some(place));
    for state in [&one, &two, &three] {
        assert!(stage.get(state).unwrap() == *state);
    }
}

#[test]
fn a_damaged_content_is_not_the_base_of_the_next_one() {
    let stage = Stage::new();
    let one = mailbox(10, 0, 500);
    let place = stage.put(&one, None);
    let path = stage.run().join("contents/1");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[1_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let packs = Packs::new(stage.0.path().to_owned());
    assert!(packs.get(&object::hash(&one)).unwrap().is_err());
    let two = mailbox(11, 0, 500);
    stage.put(&two, Some(place));
    assert!(stage.get(&two).unwrap() == two);
    stage.put(&one, Some(place));
    assert!(stage.get(&one).unwrap() == one, "what is kept again is whole again");
}

#[test]
fn without_the_former_content_a_new_file_is_begun() {
    let stage = Stage::new();
    let one = mailbox(10, 0, 500);
    let place = stage.put(&one, None);
    for (damage, file) in [("", "contents/1"), ("{}\n", RECIPES)] {
        std::fs::write(stage.run().join(file), damage).unwrap();
        let two = mailbox(11, damage.len(), 500);
        stage.put(&two, Some(place));
        assert!(stage.get(&two).unwrap() == two);
    }
    assert!(stage.run().join("contents/3").exists());
}

#[test]
fn a_compressed_run_is_read_and_continued() {
    let stage = Stage::new();
    let one = mailbox(10, 0, 500);
    let place = stage.put(&one, None);
    for file in ["contents/1", RECIPES] {
        let path = stage.run().join(file);
        let packed = std::fs::File::create(data::packed(&path)).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
        std::io::Write::write_all(&mut gzip, &std::fs::read(&path).unwrap()).unwrap();
        gzip.finish().unwrap();
        std::fs::remove_file(path).unwrap();
    }
    assert!(stage.get(&one).unwrap() == one);
    let two = mailbox(11, 0, 500);
    stage.put(&two, Some(place));
    for state in [&one, &two] {
        assert!(stage.get(state).unwrap() == *state);
    }
    assert!(!stage.run().join("contents/2").exists(), "in the same data file");
}

#[derive(Debug, Clone)]
enum Edit {
    Insert(proptest::sample::Index, Vec<u8>),
    Remove(proptest::sample::Index, usize),
    Move(proptest::sample::Index),
    Cut(proptest::sample::Index),
    Back,
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = any::<proptest::sample::Index>;
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        proptest::collection::vec(0u8..2, 0..300),
        Just(b"true".to_vec()),
    ];
    prop_oneof![
        4 => (place(), bytes).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (place(), 0usize..400).prop_map(|(at, length)| Edit::Remove(at, length)),
        1 => place().prop_map(Edit::Move),
        1 => place().prop_map(Edit::Cut),
        1 => Just(Edit::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_contents_come_back_byte_for_byte(
        edits in proptest::collection::vec((proptest::collection::vec(edit(), 0..4), any::<bool>()), 1..60),
    ) {
        let stage = Stage::new();
        let (mut state, mut place): (Vec<u8>, _) = (text(1, 1_500).into_bytes(), None);
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (edits, is_kept) in edits {
            for edit in edits {
                match edit {
                    Edit::Insert(at, bytes) => {
                        let at = at.index(state.len() + 1);
                        state.splice(at..at, bytes);
                    }
                    Edit::Remove(at, length) => {
                        let at = at.index(state.len() + 1);
                        state.drain(at..state.len().min(at + length));
                    }
                    Edit::Move(at) => {
                        let at = at.index(state.len() + 1);
                        state.rotate_left(at);
                    }
                    Edit::Cut(at) => state.truncate(at.index(state.len() + 1)),
                    Edit::Back => state = all.get(all.len() / 2).cloned().unwrap_or_default(),
                }
            }
            let new = stage.put(&state, place);
            place = if is_kept { Some(new) } else { place };
            all.push(state.clone());
        }
        let packs = Packs::new(stage.0.path().to_owned());
        for state in &all {
            prop_assert!(packs.get(&object::hash(state)).unwrap().unwrap() == *state);
        }
    }
}

#[test]
fn a_link_in_the_place_of_the_data_directory_is_not_followed() {
    let (stage, away) = (Stage::new(), tempfile::tempdir().unwrap());
    std::fs::create_dir_all(stage.run()).unwrap();
    std::os::unix::fs::symlink(away.path(), stage.run().join("contents")).unwrap();
    let bytes = text(1, 2_000).into_bytes();
    let hash = object::hash(&bytes);
    let new = NewContent { bytes: &bytes, hash: &hash, former: None, durability: Durability::Usual };
    let put = Pack::new(stage.run()).put(&new);
    assert_eq!(put.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    assert_eq!(std::fs::read_dir(away.path()).unwrap().count(), 0);
}

#[test]
fn a_content_of_very_many_parts_is_written_whole_and_comes_back() {
    let stage = Stage::new();
    let blocks: Vec<String> = (0..MAX_RANGES + 10).map(|number| text(number, 128)).collect();
    let old = blocks.concat().into_bytes();
    let new = blocks.iter().rev().cloned().collect::<String>().into_bytes();
    let place = stage.put(&old, None);
    stage.put(&new, Some(place));
    assert_eq!(stage.get(&old), Some(old.clone()));
    assert_eq!(stage.get(&new), Some(new.clone()));
    assert!(stage.size() as usize > old.len() + new.len());
}
