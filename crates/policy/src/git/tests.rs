use std::path::Path;

use proptest::prelude::*;

use super::shell::{Part, ShellLine};
use super::*;

fn parse(line: &str) -> GitCommands {
    GitCommands::parse(line, Path::new("/repo"))
}

/// The commands of a line, as `DIRECTORY: NAME`.
fn shown(line: &str) -> Vec<String> {
    let command = |command: &GitCommand| format!("{}: {}", command.directory.display(), command.name);
    parse(line).commands.iter().map(command).collect()
}

#[test]
fn on_windows_a_line_of_git_bash_goes_to_other_directories_and_drives() {
    for (line, directory) in [
        ("git reset --hard", r"C:\repo"),
        ("cd src && git.exe reset --hard", r"C:\repo\src"),
        ("cd /c/Users/nina && git reset --hard", "C:/Users/nina"),
        ("cd 'D:\\work' && git reset --hard", r"D:\work"),
        ("git -C /d/work reset --hard", "D:/work"),
    ] {
        let found = GitCommands::parse(line, Path::new(r"C:\repo")).commands;
        let found: Vec<_> = found.iter().map(|one| (one.directory.to_str().unwrap(), one.name)).collect();
        assert_eq!(found, [(directory, "reset --hard")], "{line}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
fn commands_are_found_in_every_usual_place() {
    let hard = |directory: &str| vec![format!("{directory}: reset --hard")];
    for line in [
        "cd /repo && git reset --hard",
        "git status; git reset --hard",
        "true || git reset --hard",
        "git reset --hard | tail -1",
        "git reset --hard > /dev/null 2>&1",
        "git reset --hard 2>/tmp/x",
        "FOO=1 BAR='a b' git reset --hard",
        "sudo -n -u me git reset --hard",
        "env -u X A=b nice -n 5 git reset --hard",
        "timeout -k 1 10 git reset --hard",
        "command /usr/bin/git --no-pager -c x.y=z reset --hard",
        "if true; then git reset --hard; fi",
        "(cd src && ls); git reset --hard",
        "{ git reset --hard; }",
        "if ! (git reset --hard); then ls; fi",
        "export GIT_PAGER=cat && git reset --hard",
        "! git reset --hard &",
        "ls # '\ngit reset --hard",
        "git \\\n  reset \\\n  --hard",
        "bash -lc 'git reset --hard'",
        "echo \"$(git log)\" && git reset --hard",
        "x=$(cat <<'EOF'\nit's ) here\nEOF\n); git reset --hard",
        "cat <<-EOF > x\n\tit's\n\tEOF\ngit reset --hard",
        "cat <<< \"it's\" && git reset --hard",
        "echo $'it\\'s' ${x:-y} $((1+2)) `date` && git reset --hard",
        "git diff <(git show a) && git reset --hard",
        "echo $(git reset --hard)",
        "echo \"$(git reset --hard)\"",
        "x=`git reset --hard`",
        "echo ${x:-$(git reset --hard)}",
        "cat <(git reset --hard)",
        "time git reset --hard",
        "time -p git reset --hard",
        "exec git reset --hard",
        "nohup git reset --hard &",
        "stdbuf -oL git reset --hard",
        "setsid git reset --hard",
        "ionice -c 3 git reset --hard",
        "env -C /repo git reset --hard",
        "sudo -D /repo git reset --hard",
        "eval git reset --hard",
        "sh -c 'cd /repo; git reset --hard'",
        "find . -name x -exec git reset --hard \\;",
        "f() { git reset --hard; }; f",
        "f () { git reset --hard; }; f",
        "function f { git reset --hard; }; f",
        "for i in 1 2; do git reset --hard; done",
        "while true; do git reset --hard; done",
        "\\git reset --hard",
        "'git' reset --hard",
        "git commit -m \"a << b\" -- && git reset --hard",
    ] {
        assert_eq!(shown(line).last(), hard("/repo").last(), "{line:?}");
    }
    assert_eq!(shown("cd src && git reset --hard"), hard("/repo/src"));
    assert_eq!(shown("git -C ../other -C x reset --hard"), hard("/repo/../other/x"));
    assert_eq!(shown("(cd /a; git reset --hard)"), hard("/a"));
    let message = "git add -A && git commit -m \"$(cat <<'EOF'\nDon't (panic\n\nEOF\n)\" && git push -f";
    let expected = ["/repo: add --all", "/repo: commit", "/repo: push --force"];
    assert_eq!(shown(message), expected);
    assert!(parse(message).is_complete);
}

#[test]
fn an_uncertain_command_is_left_out_and_noted() {
    for line in [
        "cd $DIR && git reset --hard",
        "cd ~/x && git reset --hard",
        "cd - && git reset --hard",
        "$GIT reset --hard",
        "git $COMMAND --hard",
        "git -C \"$DIR\" reset --hard",
        "git --git-dir=/x reset --hard",
        "GIT_DIR=/x git reset --hard",
        "bash -c \"$SCRIPT\"",
        "echo 'unbalanced && git reset --hard",
        "echo \"unbalanced && git reset --hard",
        "echo $(unbalanced && git reset --hard",
        "git init -q && git reset --hard",
        "export GIT_DIR=/x && git reset --hard",
        "declare -x A=1 GIT_WORK_TREE; git reset --hard",
        "command=(git reset --hard)",
        "command+=( git reset --hard )",
        "[[ x =~ (git reset --hard) ]]",
        "ls !(git reset --hard)",
        "env -S 'git reset --hard'",
        "git unstage",
        "cat | bash",
        "git reset --hard\0",
        "git reset --hard\u{1}",
    ] {
        let found = parse(line);
        assert_eq!((found.commands.len(), found.is_complete), (0, false), "{line:?}");
    }
    let before = parse("git reset --hard; echo 'unbalanced");
    assert_eq!((before.commands.len(), before.is_complete), (1, false), "the part before it is known");
}

#[test]
fn a_command_with_an_unknown_argument_is_judged_without_it() {
    for (line, effects) in [
        ("git reset --hard $X", 1),
        ("git checkout -- $F", 0),
        ("git stash -- \"$F\"", 1),
        ("git clean -f $D", 0),
    ] {
        let found = parse(line);
        let known = found.commands.iter().map(|command| command.effects.len()).sum::<usize>();
        assert_eq!((known, found.is_complete), (effects, false), "{line}");
    }
    assert!(parse("git log $X && git commit -m \"$M\" -- a").is_complete);
    assert!(!parse("xargs git checkout --").is_complete);
    assert_eq!(shown("xargs git reset --hard"), ["/repo: reset --hard"]);
}

#[test]
fn huge_and_deep_lines_are_limited() {
    let long = format!("git reset --hard; echo {}", "x".repeat(1 << 20));
    assert!(!parse(&long).is_complete && parse(&long).commands.is_empty());
    let deep = format!("{}git reset --hard{}", "$(".repeat(100_000), ")".repeat(100_000));
    assert!(!parse(&deep).is_complete);
    let shells = format!("{}git reset --hard{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(!parse(&shells).is_complete);
    assert!(!parse(&"${".repeat(100_000)).is_complete && !parse(&"\"$(\"${".repeat(10_000)).is_complete);
    let nested = "bash -c \"bash -c 'bash -c \\\"bash -c x\\\"'\"";
    assert!(!parse(nested).is_complete);
    assert!(!parse(&"xargs ".repeat(40_000)).is_complete);
    assert!(!parse(&format!("{}git reset --hard '", "cat <<a\n".repeat(30_000))).is_complete);
    let many = parse(&"git add -A;".repeat(20_000));
    assert_eq!((many.commands.len(), many.is_complete), (16, false));
}

/// Text of the characters that matter to a shell.
fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("git "),
        Just("reset --hard "),
        Just("cd x "),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("$("),
        Just("${"),
        Just(")"),
        Just("}"),
        Just("("),
        Just("`"),
        Just("<<EOF"),
        Just("\nEOF\n"),
        Just("<"),
        Just(">"),
        Just("&"),
        Just("|"),
        Just(";"),
        Just("\n"),
        Just("#"),
        Just("$"),
        Just(" "),
        Just("ü"),
        Just("\0"),
        Just("2"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_parsed_to_words_without_redirections(line in line()) {
        let parsed = ShellLine::parse(&line);
        let open = parsed.parts.iter().filter(|part| **part == Part::Open).count();
        let closed = parsed.parts.iter().filter(|part| **part == Part::Close).count();
        prop_assert!(closed <= open && (!parsed.is_complete || closed == open));
        for part in &parsed.parts {
            if let Part::Command(words) = part {
                prop_assert!(!words.is_empty() && words.iter().all(|word| !word.contains('\u{1}')), "{words:?}");
            }
        }
        parse(&line);
    }
}
