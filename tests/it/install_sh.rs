//! `install.sh`, run as a user runs it: in a clone, with a cargo that hands out this program.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

use crate::home::{Home, MINE, Said, said};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A home with a clone in it. This program is on the search path only where install.sh puts it.
struct Clone {
    home: Home,
    dir: PathBuf,
}

impl Clone {
    fn new() -> Clone {
        let home = Home::with(MINE);
        let dir = home.dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("clone/.cargo")).unwrap();
        for path in ["install.sh", ".cargo/static.toml"] {
            std::fs::copy(Path::new(ROOT).join(path), dir.join("clone").join(path)).unwrap();
        }
        for tool in ["cargo", "rustc"] {
            symlink(Path::new(ROOT).join("tests/fixtures").join(tool), dir.join("bin").join(tool)).unwrap();
        }
        std::fs::rename(dir.join("bin/teamkeep"), dir.join("bin/teamkeep.built")).unwrap();
        Clone { home, dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    fn command(&self, script: &str, args: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        // Both streams as one: the script speaks on stdout, the program on stderr.
        command.args(["-c", "exec /bin/sh \"$0\" \"$@\" >&2"]).arg(self.at(script)).args(args);
        command.env_clear().current_dir(&self.dir);
        command.env("HOME", &self.dir).env("TEAMKEEP_NOW", "2026-02-03T04:05:06.789Z");
        let search =
            format!("{}:{}:/usr/bin:/bin", self.at("bin").display(), self.at(".local/bin").display());
        command.env("PATH", search);
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        said(&self.dir, &mut self.command("clone/install.sh", args))
    }

    /// Runs it and expects success.
    fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args:?}: {}", said.err);
        said.err
    }

    /// Runs it and expects that something is left to do.
    fn fails(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(1), "{args:?}: {}", said.err);
        said.err
    }
}

#[test]
fn an_install_and_its_end_leave_nothing_but_the_record() {
    let clone = Clone::new();
    assert_snapshot!(clone.ok(&[]), @"
    building (a few minutes the first time)
    installed teamkeep 0.1.0 as ~/.local/bin/teamkeep
    installed 15 hooks in ~/.claude/settings.json
    each runs ~/.local/bin/teamkeep hook, for client 2.1.328
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    to undo all of it: ~/clone/install.sh --uninstall
    ");
    assert_snapshot!(clone.ok(&["--uninstall"]), @"
    removed 15 hooks from ~/.claude/settings.json; the file is as it was before
    the file with the hooks: ~/.local/share/teamkeep/installs/#-#.bak
    removed ~/.local/bin/teamkeep
    the record stays in ~/.local/share/teamkeep
    to delete it for good: rm -r ~/.local/share/teamkeep
    ");
    assert_eq!(clone.home.read(), MINE);
    assert!(!clone.at(".local/bin").exists(), "it was made, and is empty again");
    assert_snapshot!(clone.ok(&["--uninstall"]), @"
    ~/.claude/settings.json has no hooks of ours
    there is no ~/.local/bin/teamkeep
    the record stays in ~/.local/share/teamkeep
    to delete it for good: rm -r ~/.local/share/teamkeep
    ");
}

#[test]
fn a_directory_that_was_there_before_stays() {
    let clone = Clone::new();
    std::fs::create_dir_all(clone.at("tools/bin")).unwrap();
    clone.ok(&["--prefix", "tools"]);
    clone.ok(&["--uninstall", "--prefix", "tools"]);
    assert!(clone.at("tools/bin").exists());
    clone.ok(&["--prefix", "new/tools"]);
    std::fs::write(clone.at("new/mine"), "").unwrap();
    clone.ok(&["--uninstall", "--prefix", "new/tools"]);
    assert!(!clone.at("new/tools").exists());
    assert!(clone.at("new/mine").exists());
}

#[test]
fn paths_with_blanks_are_quoted_where_they_are_to_be_typed() {
    let clone = Clone::new();
    assert_snapshot!(clone.ok(&["--prefix", "my tools"]), @"
    building (a few minutes the first time)
    installed teamkeep 0.1.0 as ~/my tools/bin/teamkeep
    installed 15 hooks in ~/.claude/settings.json
    each runs '~/my tools/bin/teamkeep' hook, for client 2.1.328
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: '~/my tools/bin/teamkeep' uninstall
    ~/my tools/bin is not on the search path; to call teamkeep by its name: export PATH='~/my tools/bin':$PATH
    to undo all of it: ~/clone/install.sh --uninstall --prefix '~/my tools'
    ");
    assert_snapshot!(clone.ok(&["--uninstall", "--prefix", "my tools"]), @"
    removed 15 hooks from ~/.claude/settings.json; the file is as it was before
    the file with the hooks: ~/.local/share/teamkeep/installs/#-#.bak
    removed ~/my tools/bin/teamkeep
    the record stays in ~/.local/share/teamkeep
    to delete it for good: rm -r ~/.local/share/teamkeep
    ");
    assert!(!clone.at("my tools").exists());
}

#[test]
fn hooks_that_call_a_binary_elsewhere_are_taken_out_with_it() {
    for prefix in ["opt", "it's my tools"] {
        for version in ["2.1.328", "2.1.47"] {
            let clone = Clone::new();
            clone.home.client(version);
            clone.ok(&["--prefix", prefix]);
            let said = clone.ok(&["--uninstall"]);
            if prefix == "opt" && version == "2.1.328" {
                assert_snapshot!(said, @"
                the hooks in ~/.claude/settings.json call ~/opt/bin/teamkeep
                removed 15 hooks from ~/.claude/settings.json; the file is as it was before
                the file with the hooks: ~/.local/share/teamkeep/installs/#-#.bak
                there is no ~/.local/bin/teamkeep
                ~/opt/bin/teamkeep stays; to remove it: ~/clone/install.sh --uninstall --prefix ~/opt
                the record stays in ~/.local/share/teamkeep
                to delete it for good: rm -r ~/.local/share/teamkeep
                ");
            }
            assert_eq!(clone.home.read(), MINE, "{said}");
            assert!(clone.at(prefix).join("bin/teamkeep").exists());
        }
    }
}

#[test]
fn hooks_that_call_nothing_are_named_with_what_to_do() {
    let clone = Clone::new();
    clone.ok(&[]);
    let installed = clone.home.read();
    std::fs::remove_file(clone.at(".local/bin/teamkeep")).unwrap();
    assert_snapshot!(clone.fails(&["--uninstall"]), @"
    install.sh: the hooks in ~/.claude/settings.json call ~/.local/bin/teamkeep, which is not there
    hint: to take them out: ~/clone/install.sh --no-hooks && ~/clone/install.sh --uninstall
    ");
    assert_eq!(clone.home.read(), installed);
    clone.ok(&["--no-hooks"]);
    clone.ok(&["--uninstall"]);
    assert_eq!(clone.home.read(), MINE, "what was said to do does it");
}

#[test]
fn a_binary_that_hooks_call_is_removed_alone_with_a_warning() {
    let clone = Clone::new();
    clone.ok(&[]);
    assert_snapshot!(clone.fails(&["--uninstall", "--no-hooks"]), @"
    removed ~/.local/bin/teamkeep
    the record stays in ~/.local/share/teamkeep
    to delete it for good: rm -r ~/.local/share/teamkeep
    install.sh: the hooks in ~/.claude/settings.json call ~/.local/bin/teamkeep, which is not there
    hint: to take them out: ~/clone/install.sh --no-hooks && ~/clone/install.sh --uninstall
    ");
    assert!(!clone.at(".local/bin/teamkeep").exists());
    let clone = Clone::new();
    clone.ok(&["--no-hooks"]);
    clone.ok(&["--uninstall", "--no-hooks"]);
}

#[test]
fn a_binary_that_other_settings_call_stays_until_they_are_clean() {
    let clone = Clone::new();
    clone.ok(&[]);
    let binary = clone.at(".local/bin/teamkeep");
    let other = |verb: &str| {
        let mut command = Command::new(&binary);
        command
            .args([verb, "--settings", "my.json"])
            .env_clear()
            .env("HOME", &clone.dir)
            .current_dir(&clone.dir);
        assert_eq!(said(&clone.dir, &mut command).code, Some(0));
    };
    other("install");
    let said = clone.fails(&["--uninstall"]);
    let end: Vec<&str> = said.lines().skip_while(|line| !line.starts_with("install.sh")).collect();
    assert_snapshot!(end.join("\n"), @"
    install.sh: the hooks in ~/my.json call ~/.local/bin/teamkeep; ~/.local/bin/teamkeep stays until they are out
    hint: to take them out: ~/.local/bin/teamkeep uninstall --settings ~/my.json
    hint: to remove the binary and leave the settings alone: ~/clone/install.sh --uninstall --no-hooks
    ");
    assert!(binary.exists());
    other("uninstall");
    clone.ok(&["--uninstall"]);
    assert!(!binary.exists());
}

#[test]
fn settings_that_cannot_be_edited_and_call_nothing_keep_nobody() {
    for settings in ["{\"hooks\": []}", "{\"hooks\": [], \"model\": \"teamkeep\"}"] {
        let clone = Clone::new();
        clone.ok(&["--no-hooks"]);
        clone.home.write(settings);
        let said = clone.ok(&["--uninstall"]);
        assert!(!said.contains("hooks in"), "{said}");
        assert!(!clone.at(".local/bin/teamkeep").exists());
        assert_eq!(clone.home.read(), settings);
    }
}

#[test]
fn hooks_written_by_hand_are_found_however_they_name_the_program() {
    let clone = Clone::new();
    let write = |command: &str| {
        let hook = format!("{{\"hooks\":[{{\"command\":\"{command}\"}}]}}");
        clone.home.write(&format!("{{\"hooks\":{{\"Stop\":[{hook}]}}}}"));
    };
    for (command, called) in [
        ("/no/such/teamkeep hook stop", "/no/such/teamkeep"),
        ("'/no such/teamkeep' hook", "/no such/teamkeep"),
        ("\\\"/no such/teamkeep\\\" hook stop", "/no such/teamkeep"),
        ("$HOME/gone/teamkeep hook stop", "~/gone/teamkeep"),
        ("~/gone/teamkeep hook stop", "~/gone/teamkeep"),
        ("teamkeep hook stop", "teamkeep"),
    ] {
        write(command);
        let said = clone.fails(&["--uninstall"]);
        let line =
            format!("install.sh: the hooks in ~/.claude/settings.json call {called}, which is not there\n");
        assert!(said.starts_with(&line), "{said}");
    }
    for other in ["/bin/teamkeeper hook", "echo teamkeep hook", "/bin/teamkeep report", "notify teamkeep"] {
        write(other);
        let said = clone.ok(&["--uninstall"]);
        assert!(said.starts_with("~/.claude/settings.json has no hooks of ours\n"), "{other}: {said}");
    }
}

#[test]
fn called_through_links_it_finds_its_place() {
    let clone = Clone::new();
    symlink("clone/install.sh", clone.at("relative.sh")).unwrap();
    std::fs::create_dir(clone.at("far")).unwrap();
    symlink("../relative.sh", clone.at("far/setup")).unwrap();
    let said = said(&clone.dir, &mut clone.command("far/setup", &["--no-hooks"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.ends_with("to undo all of it: ~/clone/install.sh --uninstall\n"), "{}", said.err);
}

#[test]
fn a_prefix_that_is_none_is_refused() {
    let clone = Clone::new();
    for args in
        [&["--prefix", "--no-hooks"][..], &["--prefix"], &["--prefix="], &["--prefix=-x"], &["--prefix", ""]]
    {
        let said = clone.run(args);
        assert_eq!(said.code, Some(64), "{args:?}");
        assert!(said.err.starts_with("install.sh: --prefix needs a directory\n"), "{}", said.err);
    }
    assert_eq!(clone.home.read(), MINE);
}

#[test]
fn a_directory_in_the_place_of_the_binary_is_left_alone() {
    let clone = Clone::new();
    std::fs::create_dir_all(clone.at(".local/bin/teamkeep")).unwrap();
    assert_snapshot!(clone.fails(&["--uninstall"]), @"install.sh: cannot remove ~/.local/bin/teamkeep: it is a directory");
    assert!(clone.at(".local/bin/teamkeep").exists());
}

/// Puts the man pages and completions into the clone.
fn with_pages(clone: &Clone) {
    for dir in ["docs/man", "docs/completions"] {
        std::fs::create_dir_all(clone.at("clone").join(dir)).unwrap();
        for page in Path::new(ROOT).join(dir).read_dir().unwrap().flatten() {
            std::fs::copy(page.path(), clone.at("clone").join(dir).join(page.file_name())).unwrap();
        }
    }
}

#[test]
fn man_pages_and_completions_are_put_in_place_and_taken_away_again() {
    let clone = Clone::new();
    with_pages(&clone);
    std::fs::create_dir_all(clone.at(".local/share/man/man1")).unwrap();
    std::fs::write(clone.at(".local/share/man/man1/other.1"), "mine").unwrap();
    assert!(clone.ok(&[]).contains("man pages and completions are below ~/.local/share\n"));
    let places = [
        "share/man/man1/teamkeep.1",
        "share/man/man1/teamkeep-policy-check.1",
        "share/bash-completion/completions/teamkeep",
        "share/zsh/site-functions/_teamkeep",
        "share/fish/vendor_completions.d/teamkeep.fish",
    ];
    for place in places {
        assert!(clone.at(".local").join(place).is_file(), "{place}");
    }
    // A page of a version that had another command.
    let gone = ".TH teamkeep-gone 1  teamkeep \n";
    std::fs::write(clone.at(".local/share/man/man1/teamkeep-gone.1"), gone).unwrap();
    clone.ok(&["--uninstall"]);
    for place in places.iter().chain(&["share/man/man1/teamkeep-gone.1", "share/zsh"]) {
        assert!(!clone.at(".local").join(place).exists(), "{place}");
    }
    assert_eq!(std::fs::read_to_string(clone.at(".local/share/man/man1/other.1")).unwrap(), "mine");
}

#[test]
fn zsh_is_told_where_its_completions_are_when_it_does_not_look_there() {
    let clone = Clone::new();
    with_pages(&clone);
    let zsh = Path::new(ROOT).join("tests/fixtures/zsh");
    symlink(zsh, clone.at("bin/zsh")).unwrap();
    let installed = |shell: &str, fpath: &str| {
        let mut command = clone.command("clone/install.sh", &["--no-hooks"]);
        let said = said(&clone.dir, command.env("SHELL", clone.at(shell)).env("FIXTURE_FPATH", fpath));
        assert_eq!(said.code, Some(0), "{}", said.err);
        let told = said.err.lines().filter(|line| line.contains("zsh")).map(str::to_owned);
        told.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(installed("bin/zsh", "/usr/share/zsh/functions"), @"for completions in zsh, in ~/.zshrc before compinit: fpath=(~/.local/share/zsh/site-functions $fpath)");
    assert_eq!(installed("bin/bash", ""), "");
    let place = clone.at(".local/share/zsh/site-functions");
    assert_eq!(installed("bin/zsh", &format!("/usr/share/zsh/functions {}", place.display())), "");
    std::fs::write(clone.at(".zshrc"), "fpath=(~/.local/share/zsh/site-functions $fpath)\n").unwrap();
    assert_eq!(installed("bin/zsh", ""), "");
}

#[test]
fn pages_of_others_stay_as_they_are() {
    let clone = Clone::new();
    with_pages(&clone);
    let own =
        ["share/man/man1/teamkeep-extras.1", "share/bash-completion/completions/teamkeep", "dot/precious"];
    for place in own {
        let place = clone.at(".local").join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "complete -W mine teamkeep").unwrap();
    }
    std::fs::create_dir_all(clone.at(".local/share/zsh/site-functions")).unwrap();
    let link = clone.at(".local/share/zsh/site-functions/_teamkeep");
    std::os::unix::fs::symlink(clone.at(".local/dot/precious"), &link).unwrap();
    let said = clone.ok(&[]);
    for place in ["bash-completion/completions/teamkeep", "zsh/site-functions/_teamkeep"] {
        assert!(said.contains(&format!("/share/{place} is not teamkeep's: it stays as it is\n")), "{said}");
    }
    clone.ok(&["--uninstall"]);
    for place in own {
        let kept = std::fs::read_to_string(clone.at(".local").join(place)).unwrap();
        assert_eq!(kept, "complete -W mine teamkeep", "{place}");
    }
    assert!(link.is_symlink());
}

#[test]
fn nothing_of_the_current_directory_is_run_and_no_link_is_written_through() {
    let clone = Clone::new();
    with_pages(&clone);
    std::fs::write(clone.at("victim"), "mine").unwrap();
    let man = clone.at(".local/share/man/man1");
    std::fs::create_dir_all(&man).unwrap();
    std::os::unix::fs::symlink(clone.at("victim"), man.join("teamkeep-install.1.new")).unwrap();
    std::fs::create_dir(clone.at("here")).unwrap();
    for tool in ["cat", "sed", "dirname", "cp", "mv"] {
        let trap = clone.at("here").join(tool);
        std::fs::write(&trap, format!("#!/bin/sh\n: >{}/ran\n", clone.at("").display())).unwrap();
        std::fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut command = clone.command("clone/install.sh", &[]);
    let search = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
    let search = search.map_or_else(|| "/usr/bin:/bin".into(), |value| value.to_string_lossy().into_owned());
    let said = command.env("PATH", format!(".:{search}:")).current_dir(clone.at("here")).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(!clone.at("ran").exists());
    assert_eq!(std::fs::read_to_string(clone.at("victim")).unwrap(), "mine");
}

#[test]
fn a_binary_that_lies_beside_is_taken_and_nothing_is_built() {
    let clone = Clone::new();
    std::fs::remove_file(clone.at("bin/cargo")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_teamkeep"), clone.at("clone/teamkeep")).unwrap();
    let said = clone.ok(&[]);
    assert!(said.starts_with("taking ~/clone/teamkeep\ninstalled teamkeep"), "{said}");
    clone.ok(&["--uninstall"]);
    assert!(!clone.at(".local/bin").exists() && clone.at("clone/teamkeep").exists());
    std::fs::write(clone.at("clone/teamkeep"), "#!/no/such/interpreter\n").unwrap();
    let said = clone.run(&[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("~/clone/teamkeep does not run on this machine\nhint: "), "{}", said.err);
}

#[test]
fn a_binary_that_is_not_what_its_checksum_says_is_refused() {
    let clone = Clone::new();
    std::fs::copy(env!("CARGO_BIN_EXE_teamkeep"), clone.at("clone/teamkeep")).unwrap();
    let sum = Command::new("sha256sum").arg("teamkeep").current_dir(clone.at("clone")).output().unwrap();
    std::fs::write(clone.at("clone/teamkeep.sha256"), &sum.stdout).unwrap();
    assert!(clone.ok(&[]).starts_with("taking ~/clone/teamkeep\n"));
    clone.ok(&["--uninstall"]);
    for wrong in ["", "\n", &"0".repeat(64)] {
        std::fs::write(clone.at("clone/teamkeep.sha256"), wrong).unwrap();
        assert_eq!(
            clone.fails(&[]),
            "install.sh: ~/clone/teamkeep is not what was released: it has another checksum than teamkeep.sha256 says\n\
             hint: download the release again\n"
        );
        assert!(!clone.at(".local/bin").exists());
        assert_eq!(clone.home.read(), MINE);
    }
}

#[test]
fn a_binary_for_another_machine_is_refused_and_never_tried() {
    let clone = Clone::new();
    // What a shell that takes it for a script would run.
    let mut program = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\ntouch ran\n".to_vec();
    std::fs::write(clone.at("clone/teamkeep"), &program).unwrap();
    assert_snapshot!(clone.fails(&[]), @"
    install.sh: ~/clone/teamkeep cannot be executed
    hint: to mend it: chmod +x ~/clone/teamkeep
    ");
    std::fs::set_permissions(clone.at("clone/teamkeep"), Permissions::from_mode(0o755)).unwrap();
    let here = std::env::consts::ARCH;
    let other = if here == "x86_64" { ("aarch64", 0xb7) } else { ("x86_64", 0x3e) };
    for (of, number) in [("a machine of another kind", 0xf3), other] {
        program[18] = number;
        std::fs::write(clone.at("clone/teamkeep"), &program).unwrap();
        let refused = format!(
            "install.sh: ~/clone/teamkeep is for {of}, and this machine is {here}\nhint: take the release for this \
             machine, or build it from the source\n"
        );
        assert_eq!(clone.fails(&[]), refused);
    }
    assert!(!clone.at("ran").exists() && !clone.at(".local/bin").exists());
}
