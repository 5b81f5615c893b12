//! Trouble of the servers. Each is in trouble at most `max` times, so that shippers succeed in the end.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::collector::Collector;
use super::engines::{S3, signal};
use super::gate::Trouble;

/// Kills and restarts the server, stops it for a while, and fills its file system if that is a small one.
pub fn of_s3(mut s3: S3, data: &Path, max: usize, done: &AtomicBool) -> (S3, usize) {
    let mut times = 0;
    while !done.load(Ordering::Relaxed) && times < max {
        pause(2, done);
        match times % 3 {
            0 => s3.restart(),
            1 => {
                signal(s3.pid(), "STOP");
                pause(4, done);
                signal(s3.pid(), "CONT");
            }
            _ if std::env::var_os("TEAMKEEP_FLEET_DIR").is_some() => fill(data, || pause(5, done)),
            _ => s3.restart(),
        }
        times += 1;
    }
    (s3, times)
}

/// The collector is full, its responses are lost, it ends and starts again, and it is stopped for a while.
pub fn of_collector(
    mut collector: Collector,
    gates: &Trouble,
    max: usize,
    done: &AtomicBool,
) -> (Collector, usize) {
    let mut times = 0;
    while !done.load(Ordering::Relaxed) && times < max {
        pause(1, done);
        match times % 4 {
            0 => gates.full(|| pause(3, done)),
            1 => gates.loses_responses(|| pause(3, done)),
            2 => {
                collector.stop();
                pause(1, done);
                collector.restart();
            }
            _ => {
                signal(collector.pid(), "STOP");
                pause(4, done);
                signal(collector.pid(), "CONT");
            }
        }
        times += 1;
    }
    (collector, times)
}

/// Waits, at most until everything is sent.
fn pause(seconds: usize, done: &AtomicBool) {
    (0..seconds * 10).take_while(|_| !done.load(Ordering::Relaxed)).for_each(|_| {
        std::thread::sleep(Duration::from_millis(100));
    });
}

/// Leaves no room in the file system for a while.
fn fill(dir: &Path, wait: impl Fn()) {
    let path = dir.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    let block = vec![0; 1 << 20];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    wait();
    drop(file);
    std::fs::remove_file(path).unwrap();
}
