//! Git commands in a working tree that several agents share, judged in real repositories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::scene::{Scene, after, before, idle, lead, mate};
use teamkeep_config::Mode;
use teamkeep_model::event::Actor;
use teamkeep_policy::{Access, Counting, Decision, Guard, decide};

/// A repository on `main` with a remote, a branch `feature`, and a worktree `of-bob`.
struct Repo {
    scene: Scene,
    dir: tempfile::TempDir,
}

const FILES: [&str; 6] = ["a.txt", "src/a.rs", "src/b.rs", "src/c.rs", "app/[id]/page.tsx", "-odd"];

impl Repo {
    fn new() -> Repo {
        let mut scene = Scene::with(&[("1", "in_progress", "bob", &[])]);
        (scene.policy.history_rewrite.mode, scene.policy.add_everything.mode) = (Mode::Block, Mode::Warn);
        scene.policy.edit_collision.mode = Mode::Off;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("repo")).unwrap();
        let mut repo = Repo { scene, dir };
        repo.scene.directory = Some(repo.root());
        repo.scene.facts = Some(super::facts);
        for file in FILES {
            fs::create_dir_all(repo.root().join(file).parent().unwrap()).unwrap();
            fs::write(repo.root().join(file), "1\n").unwrap();
        }
        fs::write(repo.root().join(".gitignore"), "*.log\n").unwrap();
        for command in [
            "git init -q -b main",
            "git config user.name dev && git config user.email dev@example.org",
            "git add . && git commit -qm 'Begin'",
            "git branch feature && git init -q --bare ../remote && git remote add origin ../remote",
            "git push -q -u origin main feature",
            "git worktree add -q ../of-bob -b of-bob",
        ] {
            repo.shell(command);
        }
        repo
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn shell(&self, command: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn writes(&mut self, name: &str, file: &str, content: &str) {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        self.scene.happens(&mate(name), &after("Write", json!({"file_path": path, "content": content})));
    }

    /// A command that an agent runs in any case.
    fn runs(&mut self, name: &str, command: &str) {
        self.scene.happens(&mate(name), &before("Bash", line(command)));
        self.shell(command);
        self.scene.happens(&mate(name), &after("Bash", line(command)));
    }

    fn codes_of(&mut self, actor: &Actor, command: &str) -> Vec<&'static str> {
        self.scene.codes(actor, &before("Bash", line(command))).iter().map(|(code, _)| *code).collect()
    }

    fn codes(&mut self, name: &str, command: &str) -> Vec<&'static str> {
        self.codes_of(&mate(name), command)
    }

    fn reason(&mut self, name: &str, command: &str) -> String {
        self.scene.judge(&mate(name), &before("Bash", line(command))).swap_remove(0).text()
    }
}

fn line(command: &str) -> Value {
    json!({"command": command})
}

/// bob has made and pushed a commit, and stashed; alice has done so after him, without a push. Both have uncommitted changes:
/// bob those of `src/b.rs`, `src/staged.rs` (in the index), `docs/new.md` (untracked), `debug.log` (ignored) and
/// `app/[id]/page.tsx`.
fn shared() -> Repo {
    let mut repo = Repo::new();
    repo.writes("bob", "src/b.rs", "bob\n");
    repo.runs("bob", "git commit -qam 'Bob' && git push -q");
    repo.writes("bob", "src/b.rs", "bob again\n");
    repo.runs("bob", "git stash");
    repo.writes("alice", "src/a.rs", "alice\n");
    repo.runs("alice", "git commit -qm 'Alice' src/a.rs");
    repo.writes("alice", "src/a.rs", "alice again\n");
    repo.runs("alice", "git stash push -q src/a.rs");
    repo.runs("bob", "git branch of-both && git checkout -q -b bobs-branch && git commit -q --allow-empty -m 'Aside' && git checkout -q main");
    repo.writes("alice", "src/a.rs", "alice once more\n");
    repo.writes("alice", "notes/mine.md", "alice\n");
    repo.writes("bob", "src/b.rs", "bob once more\n");
    repo.writes("bob", "src/staged.rs", "bob\n");
    repo.runs("bob", "git add src/staged.rs");
    repo.writes("bob", "docs/new.md", "bob\n");
    repo.writes("bob", "debug.log", "bob\n");
    repo.writes("bob", "app/[id]/page.tsx", "bob\n");
    repo.writes("bob", "../of-bob/src/a.rs", "bob\n");
    repo
}

const LOSS: &str = "loss-of-others-changes";
const REWRITE: &str = "rewrite-of-others-commits";
const STASH: &str = "stash-of-another-agent";
const SWITCH: &str = "switch-of-shared-tree";
const ADD: &str = "add-of-others-changes";

/// Commands that alice must not run, with the code of the finding.
const DANGEROUS: &[(&str, &str)] = &[
    ("git reset --hard", LOSS),
    ("git reset --hard HEAD", LOSS),
    ("git reset --hard -q", LOSS),
    ("git reset --hard origin/main", LOSS),
    ("git reset --hard feature", REWRITE),
    ("git reset --hard HEAD~2", REWRITE),
    ("git reset --soft HEAD~2", REWRITE),
    ("git reset HEAD~2", REWRITE),
    ("git reset HEAD^^", REWRITE),
    ("git reset @~2", REWRITE),
    ("git reset --mixed feature", REWRITE),
    ("git reset --keep feature", REWRITE),
    ("git reset feature", REWRITE),
    ("git reset $(git rev-parse feature)", ""),
    ("git checkout -- .", LOSS),
    ("git checkout .", LOSS),
    ("git checkout -- src", LOSS),
    ("git checkout src", LOSS),
    ("git checkout src/b.rs", LOSS),
    ("git checkout -- src/b.rs", LOSS),
    ("git checkout HEAD -- src/b.rs", LOSS),
    ("git checkout HEAD src", LOSS),
    ("git checkout feature -- .", LOSS),
    ("git checkout -- '*.rs'", LOSS),
    ("git checkout -- ':/'", LOSS),
    ("git checkout -- app/[id]/page.tsx", LOSS),
    ("git checkout -f", LOSS),
    ("git checkout -f main", LOSS),
    ("git checkout --force feature", LOSS),
    ("git checkout -B main feature", REWRITE),
    ("git checkout -B of-both feature", REWRITE),
    ("git switch -C of-both feature", REWRITE),
    ("git switch --force-create of-both feature", REWRITE),
    ("git switch -f main", LOSS),
    ("git switch --discard-changes feature", LOSS),
    ("git restore .", LOSS),
    ("git restore src", LOSS),
    ("git restore src/b.rs", LOSS),
    ("git restore 'app/[id]'", LOSS),
    ("git restore :/", LOSS),
    ("git restore -s feature src", LOSS),
    ("git restore --source=HEAD --staged --worktree src/staged.rs", LOSS),
    ("git restore -SW .", LOSS),
    ("cd src && git restore b.rs", LOSS),
    ("git clean -f", ""),
    ("git clean -fd", LOSS),
    ("git clean -f docs", LOSS),
    ("git clean --force -d .", LOSS),
    ("git clean -fdx", LOSS),
    ("git clean -fX", LOSS),
    ("git clean -qfdx", LOSS),
    ("git -c clean.requireForce=false clean -f docs", LOSS),
    ("git stash", LOSS),
    ("git stash push", LOSS),
    ("git stash -q", LOSS),
    ("git stash -u", LOSS),
    ("git stash -a", LOSS),
    ("git stash save wip", LOSS),
    ("git stash push -m wip -- src", LOSS),
    ("git stash push src/b.rs", LOSS),
    ("git stash push -u -- docs", LOSS),
    ("git stash -S", LOSS),
    ("git rm -f src/b.rs", LOSS),
    ("git rm -rf src", LOSS),
    ("git mv -f src/c.rs src/b.rs", LOSS),
    ("git mv -f a.txt docs/new.md", LOSS),
    ("git checkout-index -f -a", LOSS),
    ("git checkout-index --force src/b.rs", LOSS),
    ("git diff | git apply -R", LOSS),
    ("git apply --reverse my.patch", LOSS),
    ("git read-tree -u --reset HEAD", LOSS),
    ("git read-tree --reset -u feature", LOSS),
    ("git rebase feature", ""),
    ("git rebase -i HEAD~2", REWRITE),
    ("git rebase -i feature", REWRITE),
    ("git rebase --root", REWRITE),
    ("git rebase --onto feature HEAD~2", REWRITE),
    ("git rebase -f feature", REWRITE),
    ("git rebase --exec true feature", REWRITE),
    ("git branch -f main feature", REWRITE),
    ("git branch --force of-both feature", REWRITE),
    ("git branch -D bobs-branch", REWRITE),
    ("git branch --delete --force bobs-branch", REWRITE),
    ("git push --force origin feature:main", REWRITE),
    ("git push origin +feature:main", REWRITE),
    ("git push --force-with-lease origin feature:main", REWRITE),
    ("git push -f origin feature:refs/heads/main", REWRITE),
    ("git push --force-with-lease=main origin feature:main", REWRITE),
    ("git push --force-if-includes -f origin feature:main", REWRITE),
    ("git filter-branch --tree-filter true", REWRITE),
    ("git filter-repo --path src", REWRITE),
    ("git stash pop stash@{1}", STASH),
    ("git stash drop 1", STASH),
    ("git stash drop stash@{1}", STASH),
    ("git stash clear", STASH),
    ("git stash pop --index stash@{1}", STASH),
    ("git worktree remove --force ../of-bob", "removal-of-others-worktree"),
    ("git worktree remove -f ../of-bob", "removal-of-others-worktree"),
    ("git checkout feature", SWITCH),
    ("git checkout -b new", SWITCH),
    ("git checkout -", SWITCH),
    ("git checkout --detach", SWITCH),
    ("git checkout HEAD~1", SWITCH),
    ("git switch feature", SWITCH),
    ("git switch -c new", SWITCH),
    ("git switch --orphan new", SWITCH),
    ("git switch -", SWITCH),
    ("git rebase main feature", SWITCH),
    ("git add -A", ADD),
    ("git add --all src", ADD),
    ("git add .", ADD),
    ("git add src", ADD),
    ("git add docs/", ADD),
    ("git add '*.rs'", ADD),
    ("git -C notes add -A", ADD),
    ("git add -u", ADD),
    ("git add -u src", ADD),
    ("git add -- .", ADD),
    ("git stage .", ADD),
    ("cd 'app/[id]' && git add .", ADD),
    ("git commit -a -m x", ADD),
    ("git commit -am x", ADD),
    ("git commit --all -m x", ADD),
    ("git commit -m x", ADD),
    ("git commit -m x src", ADD),
    ("git commit -i src/a.rs -m x", ADD),
    ("git add src/a.rs && git commit -m x", ADD),
    // Every way to write a command.
    ("echo $(git reset --hard)", LOSS),
    ("echo \"done: $(git stash)\"", LOSS),
    ("x=`git reset --hard`", LOSS),
    ("time git reset --hard", LOSS),
    ("env -C src git checkout b.rs", LOSS),
    ("git -C src checkout b.rs", LOSS),
    ("(cd src; git checkout b.rs)", LOSS),
    ("sudo -u dev git reset --hard", LOSS),
    ("nice -n 5 git reset --hard", LOSS),
    ("timeout 5 git reset --hard", LOSS),
    ("bash -c 'git reset --hard'", LOSS),
    ("sh -c \"cd src && git checkout .\"", LOSS),
    ("if true; then git reset --hard; fi", LOSS),
    ("for i in 1; do git stash; done", LOSS),
    ("true || git reset --hard 2>&1 | tail -1", LOSS),
    ("ls\ngit reset --hard", LOSS),
    ("git status; git log -1; git reset --hard > /dev/null", LOSS),
    ("echo x | xargs git reset --hard", LOSS),
    ("eval 'git reset --hard'", LOSS),
    ("(git stash)", LOSS),
    ("git commit -m \"$(cat <<'EOF'\nDon't\nEOF\n)\" -- src/a.rs && git reset --hard", LOSS),
    ("git --no-pager -c core.pager=cat reset --hard", LOSS),
    ("GIT_PAGER=cat git reset --hard", LOSS),
];

/// Commands that alice may run.
const HARMLESS: &[&str] = &[
    "git status",
    "git status --short --branch",
    "git log",
    "git log --oneline -5",
    "git log --all --graph",
    "git log -p -- src/b.rs",
    "git diff",
    "git diff --cached",
    "git diff main...feature -- .",
    "git diff HEAD~2",
    "git show",
    "git show HEAD:src/b.rs",
    "git blame src/b.rs",
    "git branch",
    "git branch -a -vv",
    "git branch new",
    "git branch -d feature",
    "git branch -D feature",
    "git branch -D of-both",
    "git branch -m of-both other",
    "git branch --set-upstream-to=origin/main",
    "git branch -f feature main",
    "git tag v1",
    "git tag -d v1",
    "git fetch",
    "git fetch --all --prune",
    "git pull",
    "git pull --rebase",
    "git pull --ff-only",
    "git push",
    "git push origin main",
    "git push -u origin HEAD",
    "git push --tags",
    "git push --force",
    "git push -f origin main",
    "git push --force-with-lease",
    "git push origin +main",
    "git push --force --dry-run origin feature:main",
    "git push -f origin feature",
    "git remote -v",
    "git config user.name",
    "git config --list",
    "git rev-parse HEAD",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-list --count HEAD",
    "git ls-files",
    "git ls-files --others --exclude-standard",
    "git ls-remote",
    "git merge-base main feature",
    "git describe --always",
    "git shortlog -sn",
    "git reflog",
    "git cat-file -p HEAD",
    "git grep TODO",
    "git stash list",
    "git stash show",
    "git stash show -p stash@{1}",
    "git stash apply",
    "git stash apply stash@{1}",
    "git stash pop",
    "git stash drop",
    "git stash drop stash@{0}",
    "git stash pop 0",
    "git stash push src/a.rs",
    "git stash push -m wip -- src/a.rs",
    "git stash push -u -- notes",
    "git stash -- src/a.rs && git pull && git stash pop",
    "git stash create",
    "git add src/a.rs",
    "git add src/a.rs notes/mine.md",
    "git add notes",
    "git add -- src/a.rs",
    "git add -p",
    "git add -n .",
    "git add -N notes",
    "git add --refresh .",
    "git add -A notes",
    "git add src/b.rs",
    "git add . ':!src' ':!docs' ':!app'",
    "git add -u src/a.rs",
    "git add 'notes/*.md'",
    "cd notes && git add .",
    "git commit -m x -- src/a.rs",
    "git commit --only src/a.rs -m x",
    "git commit -m x src/a.rs",
    "git commit -m 'git reset --hard' -- src/a.rs",
    "git commit -m x notes",
    "git commit --amend --no-edit -- src/a.rs",
    "git commit --amend -m x src/a.rs",
    "git commit --fixup=HEAD -- src/a.rs",
    "git commit --dry-run -a",
    "git commit -m \"$(cat <<'EOF'\nKeep it\n\nDon't lose (it)\nEOF\n)\" -- src/a.rs",
    "git commit -m x src/a.rs && git commit --amend --no-edit src/a.rs",
    "git reset",
    "git reset -q",
    "git reset HEAD src/a.rs",
    "git reset -- src/a.rs",
    "git reset src/a.rs",
    "git reset HEAD~2 src/a.rs",
    "git reset --soft HEAD",
    "git reset --soft HEAD~1",
    "git reset HEAD~1",
    "git reset HEAD^",
    "git reset @~",
    "git reset --mixed origin/main",
    "git commit -m x src/a.rs && git reset --soft HEAD~1",
    "git rebase origin/main",
    "git rebase -i HEAD~1",
    "git rebase -i origin/main",
    "git rebase",
    "git rebase --continue",
    "git rebase --abort",
    "git rebase --skip",
    "git rebase --autosquash -i HEAD~1",
    "git rebase feature",
    "git merge feature",
    "git merge --no-ff feature",
    "git merge --abort",
    "git cherry-pick feature",
    "git cherry-pick --abort",
    "git revert HEAD",
    "git checkout main",
    "git checkout HEAD",
    "git checkout src/a.rs",
    "git checkout -- src/a.rs",
    "git checkout HEAD -- src/a.rs",
    "git checkout -- notes",
    "git checkout -p",
    "git checkout src/c.rs",
    "git checkout -- src/staged.rs",
    "git switch main",
    "git restore src/a.rs",
    "git restore --staged .",
    "git restore --staged src/b.rs",
    "git restore -p",
    "git restore src/staged.rs",
    "git clean -n",
    "git clean -nfd",
    "git clean -f notes",
    "git clean -fd -e docs",
    "git clean -f src",
    "git rm --cached src/a.rs",
    "git rm -f src/a.rs",
    "git rm src/c.rs",
    "git mv src/c.rs src/d.rs",
    "git mv -f src/c.rs src/a.rs",
    "git apply my.patch",
    "git apply -R --check my.patch",
    "cd notes && git apply -R my.patch",
    "git worktree list",
    "git worktree add ../other -b other",
    "git worktree remove ../of-bob",
    "git worktree prune",
    "git worktree add ../other && cd ../other && git reset --hard",
    "git -C ../other reset --hard",
    "git bisect log",
    "git submodule update --init",
    "git gc",
    "git help reset",
    "git reset --hard --help",
    "git rebase -h",
    "git --version",
    "git",
    "echo git reset --hard",
    "echo 'git add -A'",
    "# git reset --hard",
    "grep -r 'git push --force' .",
    "cat <<'EOF'\ngit reset --hard\nEOF\n",
    "mkdir -p ../new && cd ../new && git init -q && git add -A && git commit -qm x",
    "cd src && git init -q && git add -A",
    "git clone . ../copy && cd ../copy && git reset --hard HEAD~2",
    "cd /tmp && git status",
    "rg 'git stash' docs; ls",
];

#[test]
fn dangerous_commands_are_found_and_harmless_ones_are_not() {
    let mut repo = shared();
    let mut wrong = Vec::new();
    for (command, code) in DANGEROUS {
        let found = repo.codes("alice", command);
        let is_right = if code.is_empty() { found.is_empty() } else { found.contains(code) };
        wrong.extend((!is_right).then(|| format!("{command:?}: expected {code:?}, found {found:?}")));
    }
    for command in HARMLESS {
        let found = repo.codes("alice", command);
        wrong.extend((!found.is_empty()).then(|| format!("{command:?}: found {found:?}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(HARMLESS.len() >= 150 && DANGEROUS.len() >= 130, "{} {}", HARMLESS.len(), DANGEROUS.len());
}

#[test]
fn rewriting_ones_own_work_is_never_found() {
    let mut repo = Repo::new();
    repo.writes("bob", "src/b.rs", "bob\n");
    repo.runs("bob", "git commit -qam 'Bob'");
    repo.runs("bob", "git push -q && git commit -q --allow-empty -m 'More' && git stash");
    repo.writes("bob", "src/b.rs", "bob again\n");
    repo.runs("bob", "git stash && git branch bobs-branch");
    repo.writes("bob", "src/b.rs", "bob once more\n");
    repo.writes("bob", "docs/new.md", "bob\n");
    let own: Vec<_> =
        DANGEROUS.iter().filter(|(command, _)| !repo.codes("bob", command).is_empty()).collect();
    assert!(own.is_empty(), "{own:?}");
    assert_eq!(repo.codes("alice", "git reset --hard HEAD~1"), [LOSS, REWRITE]);
}

#[test]
fn a_worktree_inside_the_tree_is_another_tree() {
    let mut repo = Repo::new();
    repo.shell("git worktree add -q inside -b inside");
    repo.writes("bob", "inside/src/a.rs", "bob\n");
    assert!(repo.codes("alice", "git switch feature").is_empty(), "bob does not work in this tree");
    repo.runs("alice", "git commit -q --allow-empty -m 'Alice'");
    assert_eq!(
        repo.codes("alice", "git worktree remove --force inside"),
        ["removal-of-others-worktree"],
        "git shows none of its changes from outside"
    );
    assert_eq!(repo.codes("alice", "git -C inside reset --hard"), ["loss-of-others-changes"]);
}

#[test]
fn a_commit_stays_its_authors_when_another_agent_rebases_it() {
    let mut repo = Repo::new();
    repo.runs("bob", "git commit -q --allow-empty -m 'Bob'");
    repo.runs(
        "alice",
        "git checkout -q feature && git commit -q --allow-empty -m 'Alice' && git checkout -q main",
    );
    repo.runs("alice", "git rebase -q --keep-empty feature");
    assert_eq!(repo.codes("alice", "git commit --amend"), ["amend-of-others-commit"]);
    assert!(repo.codes("bob", "git commit --amend").is_empty());
    assert_eq!(repo.codes("bob", "git reset --hard HEAD~2"), [REWRITE], "with alice's");
}

#[test]
fn a_commit_of_a_line_that_fails_counts_and_the_users_do_not() {
    let mut repo = Repo::new();
    repo.shell("git commit -q --allow-empty -m 'The user'");
    let command = "git commit -q --allow-empty -m Bob && false";
    repo.scene.happens(&mate("bob"), &before("Bash", line(command)));
    repo.shell("git commit -q --allow-empty -m Bob");
    let mut failed = after("Bash", line(command));
    failed["hook_event_name"] = json!("PostToolUseFailure");
    repo.scene.happens(&mate("bob"), &failed);
    assert_eq!(repo.codes("alice", "git commit --amend"), ["amend-of-others-commit"]);
    repo.shell("git reset -q --hard HEAD~1");
    repo.runs("alice", "git commit -q --allow-empty -m Alice");
    assert!(repo.codes("bob", "git reset --hard HEAD~2") == [REWRITE], "alice's");
    assert!(repo.codes("alice", "git reset --hard HEAD~2").is_empty(), "hers and the user's");
}

#[test]
fn committed_changes_are_no_longer_open() {
    let mut repo = Repo::new();
    repo.writes("bob", "src/b.rs", "bob\n");
    repo.writes("bob", "docs/new.md", "bob\n");
    assert_eq!(repo.codes("alice", "git stash"), [LOSS]);
    repo.runs("bob", "git commit -qam 'Bob'");
    assert!(repo.codes("alice", "git stash").is_empty());
    assert_eq!(repo.codes("alice", "git add -A"), [ADD], "docs/new.md is not committed");
    repo.writes("alice", "src/b.rs", "alice\n");
    assert!(repo.codes("alice", "git checkout src/b.rs").is_empty(), "bob's change is committed");
    repo.writes("bob", "src/b.rs", "both\n");
    assert_eq!(repo.codes("alice", "git checkout src/b.rs"), [LOSS]);
    repo.shell("git checkout -q src/b.rs");
    assert!(repo.codes("alice", "git checkout src/b.rs").is_empty(), "git shows no change");
}

#[test]
fn changes_that_come_back_from_the_stash_or_from_a_commit_are_open_again() {
    let mut repo = Repo::new();
    repo.writes("bob", "src/b.rs", "bob\n");
    for (away, back) in
        [("git stash -q", "git stash pop -q"), ("git commit -qam x", "git reset -q --soft HEAD~1")]
    {
        repo.runs("bob", away);
        assert!(repo.codes("alice", "git reset --hard").is_empty(), "{away}");
        repo.runs("bob", back);
        assert_eq!(repo.codes("alice", "git reset --hard"), [LOSS], "{back}");
    }
}

#[test]
fn the_lead_may_commit_the_work_of_teammates_that_have_finished() {
    let mut repo = Repo::new();
    repo.writes("bob", "src/b.rs", "bob\n");
    assert_eq!(repo.codes_of(&lead(), "git add -A"), [ADD]);
    repo.scene.task(json!({"id": "1", "status": "completed", "owner": "bob", "subject": "x"}));
    repo.scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop"}));
    repo.scene.happens(&mate("bob"), &idle("bob"));
    assert!(repo.codes_of(&lead(), "git add -A").is_empty());
    assert_eq!(repo.codes_of(&lead(), "git checkout feature"), [SWITCH], "bob has uncommitted changes");
    assert_eq!(repo.codes("alice", "git add -A"), [ADD], "a teammate may not");
    repo.runs("team-lead", "git commit -qam 'All'");
    assert!(repo.codes_of(&lead(), "git checkout feature").is_empty(), "bob does not work");
}

#[test]
fn reasons_name_the_agents_and_the_files() {
    let mut repo = shared();
    let reasons: Vec<String> = [
        "git reset --hard",
        "git reset --soft HEAD~2",
        "git stash clear",
        "git checkout feature",
        "git worktree remove --force ../of-bob",
        "git add src",
        "git commit -m x",
    ]
    .iter()
    .map(|command| repo.reason("alice", command))
    .collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    Blocked: git reset --hard would remove uncommitted changes of bob: "app/[id]/page.tsx", "src/b.rs", "src/staged.rs". Name only your own files, or ask the others with SendMessage to commit first.
    Blocked: git reset would replace or remove a commit of bob. Leave the commits as they are and add your own. If they must be replaced, agree with their authors with SendMessage first.
    Blocked: git stash clear would take a stash entry of bob. All worktrees of a repository share one stash. Name your own entry: see git stash list.
    Blocked: git checkout would switch the branch of this working tree, which others use: bob. Use another working tree (git worktree add), or stay on this branch.
    Blocked: git worktree remove --force would remove the worktree of bob. Ask with SendMessage first, or leave it.
    Warning: git add would add uncommitted changes of bob: "src/b.rs", "src/staged.rs". Add your own files by name instead.
    Warning: git commit would commit uncommitted changes of bob: "src/staged.rs". Name your own files instead: git commit -- FILE…
    "#);
    repo.runs("bob", "git commit -qm 'Staged' src/staged.rs");
    insta::assert_snapshot!(repo.reason("alice", "git commit --amend src/a.rs"), @"Blocked: git commit --amend would replace the last commit, which bob made. Make a new commit instead.");
}

#[test]
fn the_loop_guard_counts_each_kind_of_loss_on_its_own() {
    let mut repo = shared();
    let mut guard = Guard::default();
    let mut decides = |command: &str| {
        let found = repo.scene.judge(&mate("alice"), &before("Bash", line(command)));
        let counting = Counting { state: "", max_blocks: 3, at: 0, ends_turn: true };
        decide(&found, &mut guard, &counting, |_| false).verdicts[0].decision
    };
    for command in ["git checkout .", "git reset --hard", "git stash"] {
        assert_eq!(decides(command), Decision::Block, "{command}");
    }
    assert_eq!(decides("git restore ."), Decision::Allow, "the same kind of loss");
    assert_eq!(decides("git stash clear"), Decision::Block);
    assert_eq!(decides("git reset --soft HEAD~2"), Decision::Block);
}

#[test]
fn a_program_that_the_configuration_names_is_not_run() {
    let mut repo = shared();
    let ran = repo.dir.path().join("ran");
    let script = format!("touch {}; cat", ran.display());
    for key in
        ["filter.x.clean", "core.fsmonitor", "core.pager", "diff.external", "alias.status", "gpg.program"]
    {
        repo.shell(&format!("git config {key} '{script}'"));
    }
    repo.shell(
        "git config log.showSignature true && printf '* filter=x\n' > .git/info/attributes && touch src/c.rs",
    );
    assert_eq!(repo.codes("alice", "git reset --hard HEAD~2"), [LOSS, REWRITE]);
    assert!(!Path::new(&ran).exists());
}

#[test]
fn only_a_line_with_a_git_command_that_matters_asks_git() {
    let repo = shared();
    let access = |name: &str, command: &str| {
        let payload = super::scene::payload(&{
            let mut call = before("Bash", line(command));
            call["cwd"] = json!(repo.root());
            call
        });
        let actor = mate(name);
        let event = teamkeep_policy::JudgedEvent {
            at: Default::default(),
            kind: payload.kind(),
            actor: &actor,
            payload: &payload,
            access: None,
        };
        crate::enforcement::access(&repo.scene.policy, &event, || panic!("{command}: the history is read"))
    };
    for command in ["ls", "cargo test", "git status", "git log && git diff"] {
        assert!(matches!(access("alice", command), Some(Access::Git(git)) if git.is_complete), "{command}");
    }
}
