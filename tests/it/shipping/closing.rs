//! Segments are closed while hooks write to them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_core::store::log::{ExclusiveLog, Range, Reader, SegmentName, closed_segments, list};
use teamkeep_core::sys::clock;

use crate::support::sandbox::{START, Sandbox, feed};

/// Closes the current segment again and again. What is closed once never changes.
fn close_until(sandbox: &Sandbox, is_over: &AtomicBool) -> HashMap<SegmentName, u64> {
    let (dir, at) = (sandbox.keep("log"), clock::parse(START).unwrap());
    let mut found = HashMap::new();
    while !is_over.load(Ordering::Relaxed) {
        let log = ExclusiveLog::take(&dir, Duration::from_secs(300)).unwrap().unwrap();
        let closed = log.close_current(at).unwrap();
        drop(log);
        let segments = closed_segments(&dir, at).unwrap();
        assert!(closed.is_none_or(|name| segments.iter().any(|segment| segment.name == name)));
        for segment in segments {
            let size = *found.entry(segment.name.clone()).or_insert(segment.size);
            assert_eq!(size, segment.size, "{}", segment.name);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    found
}

#[test]
fn no_line_is_lost_or_changes_a_closed_segment_while_two_hundred_hooks_write() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"5m\"\n");
    let is_over = AtomicBool::new(false);
    let call = |id: String| {
        let payload = json!({"hook_event_name": "Stop", "session_id": "s", "id": id});
        let result = feed(&mut sandbox.command(&["hook", "stop"]), payload.to_string().as_bytes());
        assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
    };
    let closed = std::thread::scope(|scope| {
        let closers = [(); 2].map(|()| scope.spawn(|| close_until(&sandbox, &is_over)));
        let worker = |worker: usize| (0..25).for_each(|number| call(format!("{worker}-{number}")));
        let workers: Vec<_> = (0..8).map(|number| scope.spawn(move || worker(number))).collect();
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.unwrap());
        closers.map(|closer| closer.join().unwrap())
    });
    let mut reader = Reader::open(&sandbox.keep("log"), Range::default()).unwrap();
    let id = |line: &Value| line["id"].as_str().unwrap().to_owned();
    let mut lines = 0;
    let mut ids = HashSet::new();
    for line in reader.by_ref() {
        lines += 1;
        ids.insert(id(&serde_json::from_str(line.recorded.payload.get()).unwrap()));
    }
    assert!(reader.problems.is_empty(), "{:?}", reader.problems);
    assert_eq!((lines, ids.len()), (200, 200));
    let segments: HashMap<SegmentName, u64> =
        list(&sandbox.keep("log")).unwrap().into_iter().map(|segment| (segment.name, segment.size)).collect();
    for closed in closed {
        assert!(closed.len() > 1 && closed.iter().all(|(name, size)| segments.get(name) == Some(size)));
    }
    assert!(segments.keys().all(|name| !name.is_single_line()));
}
