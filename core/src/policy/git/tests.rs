use std::path::Path;

use proptest::prelude::*;

use super::shell::{Line, Part};
use super::*;

fn parse(line: &str) -> GitCommands {
    GitCommands::parse(line, Path::new("/repo"))
}

/// The commands of a line, as `DIRECTORY: NAME EFFECT…`.
fn shown(line: &str) -> Vec<String> {
    let path = |path: &PathArgument| match path {
        PathArgument::Top => "TOP".to_owned(),
        PathArgument::Below(path) => path.clone(),
    };
    let paths = |all: &[PathArgument]| all.iter().map(path).collect::<Vec<_>>().join(",");
    let effect = |effect: &GitEffect<Vec<PathArgument>>| match effect {
        GitEffect::Stages(all, files) => format!("stages({} {files:?})", paths(all)),
        GitEffect::Discards(all, files) => format!("discards({} {files:?})", paths(all)),
        other => format!("{other:?}").to_lowercase(),
    };
    let command = |command: &GitCommand| {
        let effects: Vec<String> = command.effects.iter().map(effect).collect();
        format!("{}: {} {}", command.directory.display(), command.name, effects.join(" "))
    };
    parse(line).commands.iter().map(command).collect()
}

#[test]
fn each_dangerous_command_has_its_effects() {
    for (line, expected) in [
        ("git commit --amend --no-edit", "commit --amend amends"),
        ("git commit -m 'x --amend'", "commit commits"),
        ("git commit --message=x src/a.rs", "commit stages(src/a.rs Tracked) commits"),
        ("git commit -am x", "commit --all stages(TOP Tracked) commits"),
        ("git commit -ma", "commit commits"),
        ("git commit --all --amend -m x", "commit --amend stages(TOP Tracked) amends"),
        ("git rebase main", "rebase rewrites"),
        ("git rebase -i HEAD~3", "rebase rewrites"),
        ("git reset --hard", "reset --hard discards(TOP Tracked)"),
        ("git reset --hard HEAD", "reset --hard discards(TOP Tracked)"),
        ("git reset --hard origin/main", "reset --hard discards(TOP Tracked) rewrites"),
        ("git reset --soft HEAD~1", "reset rewrites"),
        ("git reset @^", "reset rewrites"),
        ("git checkout -- .", "checkout discards(. Tracked)"),
        ("git checkout .", "checkout discards(. Tracked)"),
        ("git checkout HEAD -- src a.rs", "checkout discards(src,a.rs Tracked)"),
        ("git checkout src/a.rs", "checkout discards(src/a.rs Tracked)"),
        ("git checkout -f main", "checkout --force discards(TOP Tracked)"),
        ("git switch -f main", "switch --discard-changes discards(TOP Tracked)"),
        ("git restore .", "restore discards(. Tracked)"),
        ("git restore :/", "restore discards(TOP Tracked)"),
        ("git restore -s HEAD~2 -SW a.rs", "restore discards(a.rs Tracked)"),
        ("git clean -fd", "clean --force discards(. Untracked)"),
        ("git clean --force -x src", "clean --force discards(src Untracked)"),
        ("git stash", "stash discards(TOP Tracked)"),
        ("git stash -u", "stash discards(TOP Both)"),
        ("git stash push -m wip -- src", "stash discards(src Tracked)"),
        ("git stash save wip", "stash discards(TOP Tracked)"),
        ("git push --force", "push --force rewrites"),
        ("git push -fu origin main", "push --force rewrites"),
        ("git push --force-with-lease=main origin", "push --force rewrites"),
        ("git push origin +main:main", "push --force rewrites"),
        ("git add -A", "add --all stages(TOP Both)"),
        ("git add --all src", "add --all stages(src Both)"),
        ("git add .", "add stages(. Both)"),
        ("git add -- '*'", "add stages(* Both)"),
        ("git add -u", "add --update stages(TOP Tracked)"),
        ("git add --update src", "add --update stages(src Tracked)"),
        ("git filter-branch --tree-filter x", "filter-branch rewrites"),
        ("git filter-repo --path src", "filter-repo rewrites"),
    ] {
        assert_eq!(shown(line), [format!("/repo: {expected}")], "{line}");
        assert!(parse(line).is_complete, "{line}");
    }
}

#[test]
fn harmless_commands_have_no_effect() {
    for line in [
        "",
        "ls",
        "echo git reset --hard",
        "git",
        "git status",
        "git log --all",
        "git diff -- .",
        "git push origin main",
        "git push --force -n",
        "git stash pop",
        "git stash list",
        "git rebase --continue",
        "git rebase --abort",
        "git reset",
        "git reset HEAD a.rs",
        "git reset HEAD~1 a.rs",
        "git reset HEAD~1 -- src",
        "git reset --soft HEAD",
        "git checkout main",
        "git checkout -b fix/1.2",
        "git switch main",
        "git restore --staged .",
        "git clean -n",
        "git clean -fn",
        "git add -n .",
        "git commit --dry-run -a",
        "git branch -D x",
        "# git reset --hard",
        "echo 'git reset --hard'",
        "cat <<'EOF'\ngit reset --hard\nEOF\n",
        "grep -r 'x && git push --force' .",
        "git reset $X",
        "echo \"a\ngit reset --hard\"",
        "A=1",
        "git -c alias.x=y status",
        "git rebase --help",
        "git rebase -h",
        "git reset --hard --help",
        "git add -N .",
        "git add --refresh .",
        "git add . ':!a.rs'",
        "git add -A -- . ':(top,exclude)a.rs'",
        "git stash push -- . ':^a.rs'",
        "git clean -fX",
        "git clean -fd -e a.rs",
        "git worktree list",
    ] {
        assert_eq!(shown(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn commands_are_found_in_every_usual_place() {
    let hard = |directory: &str| vec![format!("{directory}: reset --hard discards(TOP Tracked)")];
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
    ] {
        assert_eq!(shown(line), hard("/repo"), "{line:?}");
    }
    assert_eq!(shown("cd src && git reset --hard"), hard("/repo/src"));
    assert_eq!(shown("git -C ../other -C x reset --hard"), hard("/repo/../other/x"));
    assert_eq!(shown("(cd /a; git reset --hard)"), hard("/a"));
    let message = "git add -A && git commit -m \"$(cat <<'EOF'\nDon't (panic\n\nEOF\n)\" && git push -f";
    let expected =
        ["/repo: add --all stages(TOP Both)", "/repo: commit commits", "/repo: push --force rewrites"];
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
        "sudo -D /x git reset --hard",
        "eval 'git reset --hard'",
        "echo x | xargs git reset --hard",
        "bash -c \"$SCRIPT\"",
        "echo 'unbalanced && git reset --hard",
        "echo \"unbalanced && git reset --hard",
        "echo $(unbalanced && git reset --hard",
        "case x in x) git reset --hard;; esac",
        "git init -q && git reset --hard",
        "git clone /x y && cd y && git reset --hard",
        "git worktree add y && cd y && git reset --hard",
        "export GIT_DIR=/x && git reset --hard",
        "declare -x A=1 GIT_WORK_TREE; git reset --hard",
        "f() { git reset --hard; }",
        "f () { ls; git reset --hard; }",
        "function f { ls; git reset --hard; }",
        "command=(git reset --hard)",
        "command+=( git reset --hard )",
        "[[ x =~ (git reset --hard) ]]",
        "ls !(git reset --hard)",
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
fn huge_and_deep_lines_are_limited() {
    let long = format!("git reset --hard; echo {}", "x".repeat(1 << 20));
    assert!(!parse(&long).is_complete && parse(&long).commands.is_empty());
    let deep = format!("{}git reset --hard{}", "$(".repeat(100_000), ")".repeat(100_000));
    assert!(!parse(&deep).is_complete);
    let shells = format!("{}git reset --hard{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(parse(&shells).commands.len(), 1);
    let nested = "bash -c \"bash -c 'bash -c \\\"bash -c x\\\"'\"";
    assert!(!parse(nested).is_complete);
    let many = parse(&"git add -A;".repeat(20_000));
    assert_eq!((many.commands.len(), many.is_complete), (16, false));
    let long = format!("git add{}", " 'a b'".repeat(20_000));
    assert_eq!((shown(&long)[0].matches("a b").count(), parse(&long).is_complete), (64, false));
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
        let parsed = Line::parse(&line);
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
