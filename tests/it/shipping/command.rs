//! `teamkeep ship` runs `teamkeep-ship`.

use insta::assert_snapshot;

use super::ship_sandbox::ShipSandbox;

#[cfg_attr(windows, ignore = "a shell script as a program")]
#[test]
fn arguments_global_options_and_the_exit_code_are_passed_on() {
    let ship = ShipSandbox::new();
    assert_eq!(ship.run(&["ship", "--dry-run", "--json", "--since", "today"]).code, Some(0));
    assert_eq!(ship.run(&["--color", "never", "-q", "ship", "status", "--utc"]).code, Some(0));
    assert_eq!(ship.run(&["ship", "--since=fail"]).code, Some(3));
    assert_eq!(ship.run(&["ship"]).code, Some(0));
    assert_eq!(
        ship.calls(),
        [
            "--color auto --json --dry-run --since=today unfinished=0",
            "--color never --quiet --utc status unfinished=0",
            "--color auto --since=fail unfinished=0",
            "--color auto unfinished=0",
        ]
    );
}

#[test]
fn an_unknown_argument_is_a_usage_error_and_starts_nothing() {
    let ship = ShipSandbox::new();
    for args in [&["ship", "-x"][..], &["ship", "run"], &["ship", "--once", "--dry-run"], &["ship", "--json"]]
    {
        assert_eq!(ship.run(args).code, Some(64), "{args:?}");
    }
    assert!(ship.calls().is_empty());
}

#[test]
fn a_missing_program_is_an_error_with_a_hint() {
    let ship = ShipSandbox::bare();
    let result = ship.run(&["ship", "--once"]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert_snapshot!(result.err, @r"
    error: cannot ship: teamkeep-ship is neither beside teamkeep nor in PATH
    hint: to install it: ./install.sh --with-ship
    ");
}
