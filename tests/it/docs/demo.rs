//! The bundled example run.

use std::process::Command;

use crate::support::sandbox::Sandbox;

#[test]
fn the_block_of_the_demo_works_and_the_work_is_finished() {
    let sandbox = Sandbox::new();
    let told = sandbox.told(&["demo"]);
    let position = |part: &str| told.find(part).unwrap_or_else(|| panic!("no {part:?} in {told}"));
    let blocked = position("premature-shutdown");
    let finished = position("completed task 2");
    assert!(blocked < finished && finished < position("bob         left the team"), "{told}");
    assert!(!told.contains("returned to pending") && !told.contains("put task 2 back"), "{told}");
    assert!(!told.contains("\n$ "), "nothing looks like a command that works on the user's store");
    assert!(told.contains("The lead reads this instead of stopping bob:\n"), "{told}");
    assert!(!sandbox.keep("").exists(), "the user's store is not touched");
}

#[test]
fn the_commands_of_a_kept_demo_can_be_pasted() {
    let sandbox = Sandbox::new();
    let dir = sandbox.home().join("my demo");
    let told = sandbox.told(&["demo", "--keep", dir.to_str().unwrap()]);
    let commands: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 2, "{told}");
    for command in commands {
        let mut shell = Command::new("sh");
        sandbox.dress(&mut shell);
        let output = shell.args(["-c", command]).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let line = out.lines().next_back().unwrap();
        assert!(told.contains(line), "{command} prints {line:?}, the demo does not");
    }
    let again = sandbox.run(&["demo", "--keep", dir.to_str().unwrap()]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("the directory is not empty"), "{}", again.err);
    let (file, missing) = (sandbox.home().join("file"), sandbox.home().join("missing/demo"));
    std::fs::write(&file, "text").unwrap();
    for (taken, why) in [(&file, "it is a file"), (&missing, "No such file or directory")] {
        let result = sandbox.run(&["demo", "--keep", taken.to_str().unwrap()]);
        let error = format!("error: cannot keep the run in {}: ", taken.display());
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
        assert!(result.err.starts_with(&error) && result.err.contains(why), "{}", result.err);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "text");
}
