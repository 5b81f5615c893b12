//! Segments are closed while hooks write to them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_history::{Range, Reader};
use teamkeep_model::event::SafeName;
use teamkeep_store::log::{EventLog, SegmentName};

use crate::support::sandbox::{Sandbox, feed};

/// Closes the current segment again and again. What is closed once never changes.
fn close_until(log: &EventLog, is_over: &AtomicBool) -> HashMap<SegmentName, u64> {
    let mut found = HashMap::new();
    while !is_over.load(Ordering::Relaxed) {
        log.close(Duration::from_secs(300)).unwrap();
        for segment in closed(log) {
            let size = *found.entry(segment.0.clone()).or_insert(segment.1);
            assert_eq!(size, segment.1, "{}", segment.0);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    found
}

/// The closed segments and their sizes.
fn closed(log: &EventLog) -> HashMap<SegmentName, u64> {
    let segments = log.segments().unwrap().into_iter().map(|segment| (segment.name, segment.size));
    segments.filter(|(name, _)| name.end().is_some()).collect()
}

#[test]
fn no_line_is_lost_or_changes_a_closed_segment_while_two_hundred_hooks_write() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"5m\"\n");
    let log = sandbox.logs().session(SafeName::new("s").as_ref());
    let is_over = AtomicBool::new(false);
    let call = |id: String| {
        let payload = json!({"hook_event_name": "Stop", "session_id": "s", "id": id});
        let result = feed(&mut sandbox.command(&["hook", "stop"]), payload.to_string().as_bytes());
        assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
    };
    let seen = std::thread::scope(|scope| {
        let closers = [(); 2].map(|()| scope.spawn(|| close_until(&log, &is_over)));
        let worker = |worker: usize| (0..25).for_each(|number| call(format!("{worker}-{number}")));
        let workers: Vec<_> = (0..8).map(|number| scope.spawn(move || worker(number))).collect();
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.unwrap());
        closers.map(|closer| closer.join().unwrap())
    });
    let mut reader = Reader::of(std::slice::from_ref(&log), Range::default());
    let id = |line: &Value| line["id"].as_str().unwrap().to_owned();
    let mut lines = 0;
    let mut ids = HashSet::new();
    for line in reader.by_ref() {
        lines += 1;
        ids.insert(id(&serde_json::from_str(line.recorded.payload.get()).unwrap()));
    }
    assert!(reader.problems.is_empty(), "{:?}", reader.problems);
    assert_eq!((lines, ids.len(), log.head().unwrap().count), (200, 200, 200));
    let all = closed(&log);
    for seen in seen {
        assert!(seen.len() > 1 && seen.iter().all(|(name, size)| all.get(name) == Some(size)));
    }
    assert!(log.segments().unwrap().iter().all(|segment| !segment.name.is_single()));
}
