//! The commands that the documented rule against force pushes matches.

use std::path::Path;

use teamkeep_config::pattern::regex_of;
use teamkeep_config::{BoundedRegex, Config};

/// The rule as in the documentation.
const RULE: &str = include_str!("../../rules/no-force-push.toml");

const FORCED: [&str; 37] = [
    "git push -f",
    "git push --force",
    "git push --force origin main",
    "git push origin main --force",
    "git push origin -f main",
    "git push --force-with-lease",
    "git push --force-with-lease=main:0a1b2c origin main",
    "git push --force-with-lease --force-if-includes",
    "git push origin +main",
    "git push origin +main:main",
    "git push origin +HEAD:refs/heads/main",
    "git push origin main +next",
    "git push origin \"+main\"",
    "git push origin '+main'",
    "git push -fu origin main",
    "git push -uf origin main",
    "git push -qf",
    "git push -u -f origin main",
    "git -C x push -f",
    "git -C ../parser push --force",
    "git -c push.default=current push -f",
    "git -c a=b -C x push --force",
    "git --no-pager push --force",
    "git --git-dir=x/.git push -f",
    "git --git-dir x/.git --work-tree x push -f",
    "git  push  -f",
    "git\tpush\t-f",
    "sudo git push -f",
    "GIT_SSH=ssh git push -f",
    "/usr/bin/git push -f",
    "cd x && git push -f",
    "cd x; git push --force; ls",
    "git add . && git commit -m 'x y' && git push --force",
    "(git push -f)",
    "git push \\\n  --force origin main",
    "make test\ngit push -f",
    "git fetch || git push -f 2>&1 | tail -3",
];

const ALLOWED: [&str; 37] = [
    "git push",
    "git push origin main",
    "git push -u origin main",
    "git push -n",
    "git push --follow-tags",
    "git push --follow-tags origin main",
    "git push --no-force-with-lease",
    "git push --tags",
    "git push --set-upstream origin fix-f",
    "git push origin feature-f",
    "git push origin fix--force",
    "git push origin force",
    "git push origin a+b",
    "git push origin main:release-1+f",
    "git push && rm -f x",
    "git push; rm -rf target",
    "git push | tail -f",
    "git push & tail -f log",
    "git push\nrm -f x",
    "git push || git fetch -f",
    "git commit -m 'Explain push --force'",
    "git commit -m \"No push -f any more\"",
    "git commit -am 'push --force: why not'",
    "git log --grep 'push --force'",
    "git log --oneline -f",
    "git stash push -m f",
    "git stash push --force",
    "git -C x stash push -m -f",
    "git fetch --force",
    "git checkout -f main",
    "git clean -fd",
    "git tag -f v1",
    "git branch -f main",
    "git config push.default current -f",
    "svn push -f",
    "docker push --force x",
    "rg 'git.push' -f patterns",
];

#[test]
fn the_documented_rule_matches_each_form_of_a_force_push_and_no_other_command() {
    let rule = &Config::parse(RULE, Path::new("no-force-push.toml")).unwrap().rule[0];
    let regex = BoundedRegex::of(regex_of(&rule.matches["/tool_input/command"]).unwrap()).unwrap();
    for (commands, wanted) in [(FORCED, true), (ALLOWED, false)] {
        for command in commands {
            assert_eq!(regex.is_match(command), Some(wanted), "{command}");
        }
    }
}

/// What a regular expression cannot see: who changes the rule must not promise more.
#[test]
fn the_documented_rule_does_not_know_quotes_and_aliases() {
    let rule = &Config::parse(RULE, Path::new("no-force-push.toml")).unwrap().rule[0];
    let regex = BoundedRegex::of(regex_of(&rule.matches["/tool_input/command"]).unwrap()).unwrap();
    assert_eq!(regex.is_match("git commit -m 'Never git push --force'"), Some(true));
    for hidden in ["git config alias.p 'push -f' && git p", "git push \"$OPTIONS\"", "./push.sh --force"] {
        assert_eq!(regex.is_match(hidden), Some(false), "{hidden}");
    }
}
