//! The index is a cache: whatever happens to it, a search finds what is recorded.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::hits;
use crate::store::bundle_sandbox::{SESSION, TEAM, ended};
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below};

fn files(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let all = below(&sandbox.keep("search")).into_iter();
    all.filter(|path| path.is_file() && !path.file_name().unwrap().to_str().unwrap().ends_with("lock"))
        .collect()
}

#[test]
fn a_damaged_index_is_built_again() {
    let sandbox = ended("needle");
    let expected = hits(&sandbox, &["needle"]);
    assert!(!expected.is_empty());
    let names: Vec<_> = files(&sandbox).iter().map(|path| path.extension().map(ToOwned::to_owned)).collect();
    let mut seen = 0;
    for extension in names {
        for damage in [&b""[..], b"garbage", b"{}", b"flip"] {
            let Some(path) =
                files(&sandbox).into_iter().find(|path| path.extension() == extension.as_deref())
            else {
                continue;
            };
            let mut bytes = std::fs::read(&path).unwrap();
            match damage {
                b"flip" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0xff;
                }
                other => bytes = other.to_vec(),
            }
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(hits(&sandbox, &["needle"]), expected, "{path:?}: {damage:?}");
            // Built again, the file may have another name.
            let again = files(&sandbox).into_iter().find(|path| path.extension() == extension.as_deref());
            std::fs::remove_file(again.unwrap()).unwrap();
            assert_eq!(hits(&sandbox, &["needle"]), expected, "{path:?} is missing");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn an_index_of_other_kinds_of_files_is_built_again() {
    let sandbox = ended("needle");
    let expected = hits(&sandbox, &["needle"]);
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let link = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let file = |path: &Path| std::fs::write(path, "x").unwrap();
    let directory = |path: &Path| std::fs::create_dir(path).unwrap();
    type Replace<'a> = &'a dyn Fn(&Path);
    let damages: [(&str, Replace<'_>); 6] = [
        ("index/meta.json", &pipe),
        ("index/meta.json", &link),
        ("index/.tantivy-writer.lock", &pipe),
        ("index", &file),
        ("files.json", &directory),
        ("files.json", &pipe),
    ];
    for (name, replace) in damages {
        let path = sandbox.keep("search").join(name);
        match path.is_dir() {
            true => std::fs::remove_dir_all(&path).unwrap(),
            false => std::fs::remove_file(&path).unwrap(),
        }
        replace(&path);
        assert_eq!(hits(&sandbox, &["needle"]), expected, "{name}");
    }
}

#[test]
fn an_index_of_another_version_is_built_again() {
    let sandbox = ended("needle");
    let expected = hits(&sandbox, &["needle"]);
    let meta = sandbox.keep("search/index/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let newer = text.replacen("{\\\"v\\\":2", "{\\\"v\\\":9", 1);
    assert_ne!(newer, text);
    std::fs::write(&meta, newer).unwrap();
    assert_eq!(hits(&sandbox, &["needle"]), expected);
    assert!(std::fs::read_to_string(&meta).unwrap().contains("{\\\"v\\\":2"));
}

#[test]
fn a_search_finds_what_was_recorded_since_the_last_one_and_forgets_what_is_gone() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for round in 1..=12 {
        lead.hook("UserPromptSubmit", json!({"prompt": format!("needle number{round}")}));
        lead.says("assistant", json!([{"type": "text", "text": format!("needle answer{round}")}]));
        assert_eq!(hits(&sandbox, &["needle", "--limit", "100"]).len(), 2 * round);
        assert_eq!(hits(&sandbox, &[&format!("answer{round}")]).len(), 1);
    }
    // A line that is still being written is read when it is complete.
    let path = sandbox.client(&lead.transcript());
    let whole = std::fs::read_to_string(&path).unwrap();
    let (head, tail) = r#"{"type":"user","message":{"content":"needle split"}}"#.split_at(20);
    std::fs::write(&path, format!("{whole}{head}")).unwrap();
    assert_eq!(hits(&sandbox, &["split"]).len(), 0);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, format!("{tail}\n").as_bytes()).unwrap();
    assert_eq!(hits(&sandbox, &["split"]).len(), 1);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(hits(&sandbox, &["needle", "--limit", "100"]).len(), 12, "the transcript was not archived");
}

#[test]
fn the_end_of_a_run_and_the_end_of_its_segment_change_no_result() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "needle"}));
    lead.says("assistant", json!("found the needle"));
    let expected = hits(&sandbox, &["needle"]);
    assert_eq!(expected.len(), 2);
    lead.erase();
    lead.end("other");
    sandbox.finish();
    assert_eq!(hits(&sandbox, &["needle"]), expected);
    std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    assert_eq!(hits(&sandbox, &["needle"]), expected, "from the archive");
    for path in below(&sandbox.keep("log")).into_iter().filter(|path| path.is_file()) {
        std::fs::remove_file(path).unwrap();
    }
    let of_run = |mut found: Vec<serde_json::Value>| {
        found.iter_mut().for_each(|hit| hit["line"] = json!(0));
        found
    };
    assert_eq!(of_run(hits(&sandbox, &["needle"])), of_run(expected), "from the run's events");
}

#[test]
fn searches_at_the_same_time_all_find_everything() {
    let sandbox = ended("needle");
    let expected = hits(&sandbox, &["needle"]);
    std::fs::remove_dir_all(sandbox.keep("search")).unwrap();
    let start = || {
        let mut command = sandbox.command(&["search", "needle", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    for search in running {
        let done = search.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(found["hits"].as_array().unwrap(), &expected);
    }
}

#[test]
fn the_index_is_private_and_prune_removes_it() {
    let sandbox = ended("needle");
    assert!(!sandbox.keep("search").exists(), "no hook makes an index");
    hits(&sandbox, &["needle"]);
    for path in below(&sandbox.keep("search")) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{path:?}");
    }
    let result = sandbox.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(!sandbox.keep("search/index").exists());
    assert!(hits(&sandbox, &["needle", "--kind", "message"]).iter().all(|hit| hit["team"] != TEAM));
}

#[test]
fn metadata_only_mode_leaves_nothing_to_find() {
    let sandbox = Sandbox::new();
    sandbox.configure("[privacy]\nrecord = \"metadata\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "needle"}));
    lead.says("assistant", json!("the needle"));
    assert!(hits(&sandbox, &["needle"]).is_empty());
}
