//! `teamkeep ship` runs `teamkeep-ship`.

use insta::assert_snapshot;

use super::ship_sandbox::ShipSandbox;

#[test]
fn arguments_global_options_and_the_exit_code_are_passed_on() {
    let ship = ShipSandbox::new();
    assert_eq!(ship.run(&["ship", "run", "--dry-run", "--json", "-x"]).code, Some(0));
    assert_eq!(ship.run(&["--color", "never", "-q", "--utc", "ship", "status"]).code, Some(0));
    assert_eq!(ship.run(&["ship", "fail", "--help"]).code, Some(3));
    assert_eq!(ship.run(&["ship"]).code, Some(0));
    assert_eq!(
        ship.calls(),
        [
            "--color auto run --dry-run --json -x unfinished=0",
            "--color never --quiet --utc status unfinished=0",
            "--color auto fail --help unfinished=0",
            "--color auto unfinished=0",
        ]
    );
}

#[test]
fn a_missing_program_is_an_error_with_a_hint() {
    let ship = ShipSandbox::bare();
    let result = ship.run(&["ship", "run"]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert_snapshot!(result.err, @r"
    error: cannot ship: teamkeep-ship is neither beside teamkeep nor in PATH
    hint: to install it: ./install.sh --with-ship
    ");
}
