//! An export that came from elsewhere: it is imported as a whole and found whole, or nothing of it is there.

use super::runs::{Store, bundle};
use teamkeep::verify::{Scope, Verifier};

pub fn run(data: &[u8]) {
    let store = Store::default();
    let imported = store.import(bundle(data).as_slice());
    let runs = std::fs::read_dir(store.paths().store.join("runs")).map_or(0, Iterator::count);
    match imported {
        Ok(imported) => {
            assert_eq!(runs, 1);
            let (archive, logs) = (store.archive(), store.logs());
            let scope = Scope::Run(imported.run.run.clone());
            let verifier = Verifier { archive: &archive, logs: &logs, paths: None, scope, against: &[] };
            let findings = verifier.run(&mut |_| ()).unwrap();
            assert_eq!(findings.count, imported.missing as u64, "{:?}", findings.first);
            let again = store.import(bundle(data).as_slice());
            assert!(again.is_err(), "it is imported twice");
        }
        Err(_) => assert_eq!(runs, 0, "an error left a run"),
    }
}
