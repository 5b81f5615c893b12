//! Changes to the recorded data, and whether `verify` finds each. `docs/reference/security.md` groups them.

use super::tamper_scene::{Scene, age, closed_name, resealed, resealed_line, write_lines};
use crate::support::sandbox::ContentDamage;

/// Whether and how a change is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// By `verify`, as this kind.
    Yes(&'static str),
    /// As a note of this kind, because a hook that was killed leaves the same.
    Note(&'static str),
    /// By `verify --against` only, with a head that was noted before.
    Against,
    /// The same, because the log of that head is missing.
    Missing,
    No,
}

pub type Attack = fn(&Scene);

/// On a run that has not ended.
pub const OF_THE_LOG: &[(&str, Found, Attack)] = &[
    ("A byte in the payload of a line is changed", Found::Yes("altered-line"), |scene| {
        scene.edit_line(1, 1, |line| line.replacen("\"payload\":{\"", "\"payload\":{\"x", 1));
    }),
    ("The time of a line is changed", Found::Yes("altered-line"), |scene| {
        scene.edit_line(1, 1, |line| line.replacen("\"at\":\"2026-02-03T04", "\"at\":\"2026-02-03T03", 1));
    }),
    ("A line is changed, and its own hash is computed again", Found::Yes("altered-line"), |scene| {
        scene.edit_line(1, 1, |line| resealed_line(&line.replacen("payload\":{\"", "payload\":{\"x", 1)));
    }),
    ("The last line is changed, and its own hash is computed again", Found::Yes("head-mismatch"), |scene| {
        let (segment, lines) = scene.last_segment();
        scene.edit_line(segment, lines - 1, |line| {
            resealed_line(&line.replacen("payload\":{\"", "payload\":{\"x", 1))
        });
    }),
    ("A line is deleted", Found::Yes("missing-lines"), |scene| scene.edit(1, |lines| drop(lines.remove(2)))),
    ("The first line is deleted", Found::Yes("missing-lines"), |scene| {
        scene.edit(0, |lines| drop(lines.remove(0)))
    }),
    ("The last line is deleted", Found::Yes("missing-lines"), |scene| {
        scene.edit(scene.last_segment().0, |lines| drop(lines.pop()));
    }),
    ("Two lines are swapped", Found::Yes("misplaced-line"), |scene| scene.edit(1, |lines| lines.swap(1, 2))),
    ("A line is moved to another segment", Found::Yes("misplaced-line"), |scene| {
        let mut moved = None;
        scene.edit(0, |lines| moved = Some(lines.remove(1)));
        scene.edit(1, |lines| lines.insert(0, moved.unwrap()));
    }),
    ("A copy of a line with a new ID is inserted", Found::Yes("altered-line"), |scene| {
        scene.edit(1, |lines| lines.insert(2, with_new_id(&lines[1])));
    }),
    ("A copy with a new ID and its own hash is inserted", Found::Yes("misplaced-line"), |scene| {
        scene.edit(1, |lines| lines.insert(2, resealed_line(&with_new_id(&lines[1]))));
    }),
    ("A line without a place in the chain is inserted", Found::Yes("misplaced-line"), |scene| {
        scene.edit(1, |lines| {
            let line = with_new_id(&lines[1]);
            lines.insert(2, line.split(",\"chain\":\"").next().unwrap().to_owned() + "}");
        });
    }),
    ("An old line is written again", Found::Yes("repeated-id"), |scene| {
        scene.edit(scene.last_segment().0, |lines| lines.push(scene.lines(0)[1].clone()));
    }),
    ("A line without a hash is inserted before the first line", Found::Yes("misplaced-line"), |scene| {
        scene.edit(0, |lines| {
            let line = with_new_id(&lines[0]);
            lines.insert(0, line.split(",\"chain\":\"").next().unwrap().to_owned() + "}");
        });
    }),
    ("A forged segment is added", Found::Yes("misplaced-line"), |scene| {
        let line = resealed_line(&with_new_id(&scene.lines(1)[1]));
        write_lines(&scene.run_dir().join(closed_name(&line)), &[line]);
    }),
    ("The names of two segments are swapped", Found::Yes("misplaced-line"), |scene| {
        let [one, other] = [0, 1].map(|number| scene.segment(number));
        let aside = one.with_extension("aside");
        for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
            std::fs::rename(from, to).unwrap();
        }
    }),
    ("A segment is deleted", Found::Yes("missing-lines"), |scene| {
        std::fs::remove_file(scene.segment(1)).unwrap()
    }),
    ("The newest segment is deleted", Found::Yes("missing-lines"), |scene| {
        std::fs::remove_file(scene.segment(scene.last_segment().0)).unwrap();
    }),
    ("The end of the log is cut off after a line", Found::Yes("missing-lines"), |scene| {
        scene.edit(scene.last_segment().0, |lines| lines.truncate(1));
    }),
    ("The end of the log is cut off within a line", Found::Yes("missing-lines"), |scene| {
        let path = scene.segment(scene.last_segment().0);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    }),
    ("The end of the log is cut off, and another call is recorded", Found::Yes("missing-lines"), |scene| {
        scene.edit(scene.last_segment().0, |lines| lines.truncate(1));
        scene.call("later");
    }),
    ("`events.lock` is deleted", Found::Yes("missing-head"), |scene| {
        std::fs::remove_file(scene.lock()).unwrap()
    }),
    ("`events.lock` is deleted, and another call is recorded", Found::Yes("missing-head"), |scene| {
        std::fs::remove_file(scene.lock()).unwrap();
        scene.call("later");
    }),
    (
        "The end and `events.lock` are deleted, and another call is recorded",
        Found::Yes("missing-head"),
        |scene| {
            scene.edit(scene.last_segment().0, |lines| lines.truncate(1));
            std::fs::remove_file(scene.lock()).unwrap();
            scene.call("later");
        },
    ),
    ("The run is replaced by an older copy", Found::Against, |scene| scene.restore_older_run()),
    (
        "A line is changed, and all hashes from there on and the head are computed again",
        Found::Against,
        |scene| {
            resealed(scene, |lines| lines[3] = lines[3].replacen("payload\":{\"", "payload\":{\"x", 1));
        },
    ),
    (
        "A line is deleted, and all hashes from there on and the head are computed again",
        Found::Against,
        |scene| {
            resealed(scene, |lines| {
                // One that names no journal.
                let place = lines.iter().position(|line| !line.contains("\"snapshots\"")).unwrap();
                lines.remove(place);
            });
        },
    ),
    ("All events of a run are deleted", Found::Against, |scene| {
        scene.segments().iter().for_each(|segment| std::fs::remove_file(segment).unwrap());
        std::fs::remove_file(scene.lock()).unwrap();
    }),
    ("A false event is sent to `teamkeep hook`", Found::No, |scene| scene.call("false")),
    ("A content is changed", Found::Yes("damaged-content"), |scene| {
        scene.sandbox.damage_content(&scene.content(), ContentDamage::Changed);
    }),
    ("A content is deleted", Found::Yes("missing-content"), |scene| {
        scene.sandbox.damage_content(&scene.content(), ContentDamage::Lost);
    }),
    ("A line of a journal is changed", Found::Yes("altered-journal"), |scene| {
        scene.edit_journal(|lines| lines[1] = lines[1].replacen("tasks/", "tasks/x", 1));
    }),
    ("A line of a journal is deleted", Found::Yes("altered-journal"), |scene| {
        scene.edit_journal(|lines| drop(lines.remove(1)));
    }),
    ("The last line of a journal is deleted", Found::Yes("altered-journal"), |scene| {
        scene.edit_journal(|lines| drop(lines.pop()));
    }),
    ("A line of a journal is inserted", Found::Yes("altered-journal"), |scene| {
        scene.edit_journal(|lines| lines.insert(1, lines[1].clone()));
    }),
    ("A line is added to the end of a journal", Found::Note("unnamed-journal"), |scene| {
        scene.edit_journal(|lines| lines.push(lines[1].clone()));
    }),
    ("A forged journal is added beside the real one", Found::Note("unnamed-journal"), |scene| {
        let forged = scene.journal().with_file_name("snapshots-01kgbcdefghjkmnpqrstvwxyz0.jsonl");
        std::fs::copy(scene.journal(), &forged).unwrap();
        age(&forged);
    }),
    ("Lines of a journal are swapped", Found::Yes("altered-journal"), |scene| {
        scene.edit_journal(|lines| lines.swap(1, 2));
    }),
    ("A journal is deleted", Found::Yes("damaged-file"), |scene| {
        std::fs::remove_file(scene.journal()).unwrap()
    }),
    ("A journal is emptied", Found::Yes("damaged-file"), |scene| {
        std::fs::write(scene.journal(), "").unwrap()
    }),
    ("A journal gets another name", Found::Yes("damaged-file"), |scene| {
        std::fs::rename(scene.journal(), scene.journal().with_file_name("snapshots-0.jsonl")).unwrap();
    }),
    ("The directory of a run is deleted", Found::Yes("damaged-file"), |scene| {
        std::fs::remove_dir_all(scene.run_dir()).unwrap();
    }),
    ("A run and all that names it are deleted", Found::Missing, |scene| {
        std::fs::remove_dir_all(scene.run_dir()).unwrap();
        std::fs::remove_dir_all(scene.sandbox.keep("teams/open")).unwrap();
    }),
    ("A run is made an imported one, and a line is changed", Found::Yes("altered-line"), |scene| {
        edit_description(scene, "{\"v\":1,", "{\"v\":1,\"imported\":{\"at\":\"2026-02-03T04:05:06.000Z\"},");
        scene.edit_line(1, 1, |line| line.replacen("\"payload\":{\"", "\"payload\":{\"x", 1));
    }),
    ("A run is made an imported one, and its events imported ones", Found::Against, |scene| {
        edit_description(scene, "{\"v\":1,", "{\"v\":1,\"imported\":{\"at\":\"2026-02-03T04:05:06.000Z\"},");
        let lines: Vec<String> = (0..scene.segments().len()).flat_map(|number| scene.lines(number)).collect();
        scene.segments().iter().for_each(|segment| std::fs::remove_file(segment).unwrap());
        std::fs::remove_file(scene.lock()).unwrap();
        write_lines(&scene.run_dir().join("events-imported.jsonl"), &lines[..lines.len() - 1]);
    }),
    ("The description of a run, `run.json`, is changed", Found::No, |scene| {
        edit_description(scene, "\"started_at\":\"2026", "\"started_at\":\"2025");
    }),
];

fn edit_description(scene: &Scene, from: &str, to: &str) {
    let path = scene.run_dir().join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

/// On a run that has ended, whose segments are compressed, with one line that was written without the lock.
pub const OF_AN_ENDED_RUN: &[(&str, Found, Attack)] = &[
    ("A line of a compressed segment is changed", Found::Yes("altered-line"), |scene| {
        scene.edit_packed(|lines| lines[1] = lines[1].replacen("payload\":{\"", "payload\":{\"x", 1));
    }),
    (
        "The last line of one is changed, and its hash is computed again",
        Found::Yes("altered-line"),
        |scene| {
            scene.edit_packed(|lines| {
                let last = lines.len() - 1;
                lines[last] = resealed_line(&lines[last].replacen("payload\":{\"", "payload\":{\"x", 1));
            });
        },
    ),
    ("A line of one is deleted", Found::Yes("missing-lines"), |scene| {
        scene.edit_packed(|lines| drop(lines.remove(1)))
    }),
    ("The last line of one is deleted", Found::Yes("missing-lines"), |scene| {
        scene.edit_packed(|lines| drop(lines.pop()))
    }),
    ("Lines of one are swapped", Found::Yes("misplaced-line"), |scene| {
        scene.edit_packed(|lines| lines.swap(0, 1))
    }),
    ("One is deleted", Found::Yes("missing-lines"), |scene| {
        std::fs::remove_file(scene.packed().remove(1)).unwrap();
    }),
    ("The last one is deleted", Found::Yes("missing-lines"), |scene| {
        std::fs::remove_file(scene.segments().pop().unwrap()).unwrap();
    }),
    ("One is cut off", Found::Yes("damaged-file"), |scene| {
        let path = scene.packed().remove(1);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("A line that was written without the lock is changed", Found::Yes("altered-line"), |scene| {
        let text = std::fs::read_to_string(scene.single()).unwrap();
        std::fs::write(scene.single(), text.replacen("payload\":{\"", "payload\":{\"x", 1)).unwrap();
    }),
    ("A line that was written without the lock is deleted", Found::No, |scene| {
        std::fs::remove_file(scene.single()).unwrap();
    }),
];

fn with_new_id(line: &str) -> String {
    let at = line.find("\"id\":\"").unwrap() + 6;
    let id = &line[at..at + 26];
    line.replacen(id, &format!("{}zzzz", &id[..22]), 1)
}
