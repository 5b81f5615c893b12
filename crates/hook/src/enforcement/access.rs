//! The facts about a tool call that the gates for shared files need: the state of the file that it uses, or the losses of a command
//! line as git shows them. git is asked only about recorded work of another agent, so a session with one agent starts few processes.

use std::collections::{BTreeSet, HashSet};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;

use teamkeep_config::Policy;
use teamkeep_config::pattern::is_plain;
use teamkeep_model::Tool;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_policy::{
    Access, Affected, Edit, Effect, FileHistory, FileState, Files, GitAccess, GitCall, GitCommands, GitLoss,
    JudgedEvent, Ledger, Lost, MAX_LISTED, Makes, is_below, mark,
};
use teamkeep_system::clock::file_time;
use teamkeep_system::fs;
use teamkeep_system::fs::resolved;
use teamkeep_system::git::Git;

/// Maximum size of a file whose content is compared. Larger ones are compared by size and time.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The facts about the tool call of an event. `None` if no gate of the policy needs it, or if it cannot be known. The history of files
/// is read only then.
pub fn access(policy: &Policy, event: &JudgedEvent<'_>, files: impl Fn() -> FileHistory) -> Option<Access> {
    let tool = event.payload.tool().filter(|_| policy.guards_files())?;
    let directory = event.payload.text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
    let before = event.kind.is_before_tool();
    match (tool, event.kind) {
        (Tool::Edit, EventKind::PreToolUse) => edit(event, directory).map(Access::Edit),
        (Tool::Edit | Tool::Read, EventKind::PostToolUse) => {
            let path = path(event.payload, directory)?;
            let state = state(&path).map(|(state, _)| state);
            Some(Access::Used { path: recorded_path(path)?, state, is_change: tool == Tool::Edit })
        }
        (Tool::Bash, kind)
            if before || matches!(kind, EventKind::PostToolUse | EventKind::PostToolUseFailure) =>
        {
            let line = event.payload.tool_input().get("command")?.as_str()?;
            let line = GitCommands::parse(line, directory?);
            if line.commands.is_empty() {
                return Some(Access::Git(GitAccess {
                    is_complete: line.is_complete,
                    ..GitAccess::default()
                }));
            }
            let git = if before { losses_before } else { made_after };
            Some(Access::Git(git(event, &line, &files())))
        }
        _ => None,
    }
}

fn edit(event: &JudgedEvent<'_>, directory: Option<&Path>) -> Option<Edit> {
    let path = path(event.payload, directory)?;
    let (present, content) =
        state(&path).map_or((None, Vec::new()), |(state, content)| (Some(state), content));
    let path = recorded_path(path)?;
    let input = event.payload.tool_input();
    let content = String::from_utf8_lossy(&content);
    let new = input.get("content").and_then(Value::as_str);
    let is_whole = input.get("old_string").is_none() && input.get("edits").is_none();
    let lost = new.map(|new| lost_lines(&content, new)).unwrap_or_default();
    Some(Edit { path, present, is_whole, lost })
}

/// The first lines of a content that another one does not have.
fn lost_lines(content: &str, new: &str) -> Vec<String> {
    let kept: HashSet<&str> = new.lines().map(str::trim).collect();
    let lost = content.lines().map(str::trim).filter(|line| !line.is_empty() && !kept.contains(line));
    lost.take(MAX_LISTED).map(str::to_owned).collect()
}

/// The state and the content of a regular file.
fn state(path: &Path) -> Option<(FileState, Vec<u8>)> {
    let metadata = path.symlink_metadata().ok().filter(|metadata| metadata.is_file())?;
    let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let (size, time) = (metadata.len(), i64::try_from(time).unwrap_or_default());
    let content = fs::read_regular(path, MAX_FILE_BYTES).ok().map(|(content, _)| content);
    let hash = content.as_ref().map(|content| blake3::hash(content).to_hex()[..32].to_owned());
    Some((FileState { size, time, hash: hash.unwrap_or_default() }, content.unwrap_or_default()))
}

/// The file that a call uses, which need not exist, with all links resolved.
fn path(payload: &Payload, directory: Option<&Path>) -> Option<PathBuf> {
    let input = payload.tool_input();
    let path = ["file_path", "notebook_path"].into_iter().find_map(|key| input.get(key)?.as_str())?;
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let path = Path::new(path);
    fs::resolved(&if path.is_absolute() { path.to_owned() } else { directory?.join(path) })
}

/// A path as it is recorded and compared: with slashes, which git prints on Windows, too.
fn recorded_path(path: PathBuf) -> Option<String> {
    Some(path.into_os_string().into_string().ok()?.replace(MAIN_SEPARATOR, "/"))
}

/// Maximum duration of git before or after a call. The rest is not judged. Tests may run on a machine
/// that is busy.
const TIMEOUT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 20_000 } else { 150 });
/// A commit as it is recorded. Author, time and subject stay when it is rebased, so it stays its author's.
const COMMIT: &str = "%at %ae %s";

/// The losses of a line that is about to run.
fn losses_before(event: &JudgedEvent<'_>, line: &GitCommands, files: &FileHistory) -> GitAccess {
    let mut access = GitAccess { is_complete: line.is_complete, ..GitAccess::default() };
    let agent = Ledger::default().agent(event).unwrap_or_default();
    let until = Instant::now() + TIMEOUT;
    let mut line_state = LineState::default();
    for command in &line.commands {
        let Some(mut tree) = Tree::of(&command.directory, until) else { continue };
        let mut question = Question { tree: &mut tree, files, agent: &agent, line: &mut line_state };
        for effect in &command.effects {
            let lost = question.ask(effect).unwrap_or_default();
            let loss = |what| GitLoss { command: command.name, root: question.tree.root.clone(), what };
            access.losses.extend(lost.into_iter().map(loss));
        }
        let makes = command.effects.iter().any(|effect| matches!(effect, Effect::Makes(_)));
        if makes && event.kind == EventKind::PreToolUse {
            let call = access
                .before
                .get_or_insert_with(|| GitCall { since: file_time() / 1_000_000_000, ..GitCall::default() });
            call.tops.extend(tree.tops());
        }
    }
    access.is_complete &= Instant::now() < until;
    access
}

/// The commits of a line that has run, and the recorded files that git no longer shows as changed.
fn made_after(event: &JudgedEvent<'_>, line: &GitCommands, files: &FileHistory) -> GitAccess {
    let mut access = GitAccess { is_complete: true, ..GitAccess::default() };
    let until = Instant::now() + TIMEOUT;
    let call = event.payload.tool_use_id().and_then(|id| files.call(id));
    let mut roots = BTreeSet::new();
    for command in &line.commands {
        let Some(mut tree) = Tree::of(&command.directory, until) else { continue };
        if roots.insert(tree.root.clone()) {
            let made = call.and_then(|call| tree.made(call));
            access.made.extend(made.into_iter().flatten());
            tree.compare(files, &mut access);
        }
    }
    access
}

/// The effects of the commands before that change the answers about the next one.
#[derive(Debug, Default)]
struct LineState {
    /// Whether the last commit, or the last stash entry, is the agent's own.
    commits: bool,
    stashes: bool,
    /// The files that the line has named.
    named: BTreeSet<String>,
}

struct Question<'a> {
    tree: &'a mut Tree,
    files: &'a FileHistory,
    agent: &'a str,
    line: &'a mut LineState,
}

impl Question<'_> {
    /// The losses by an effect. `None` if git fails, as the command itself would, or if its time is over.
    fn ask(&mut self, effect: &Effect) -> Option<Vec<Lost>> {
        let lost = match effect {
            Effect::Discards(files) => Lost::Changes(self.changes(files)?),
            Effect::Cleans(arguments, paths) => Lost::Changes(self.cleaned(arguments, paths)?),
            Effect::Stages(files) => {
                self.name(&files.paths);
                let mut changed = self.changes(files)?;
                changed.retain(|path| !self.line.named.contains(path));
                Lost::Adds(changed)
            }
            // An earlier command of the line moved HEAD.
            Effect::Drops(revisions) if self.line.commits && is_relative(revisions) => return None,
            Effect::Drops(revisions) => {
                let (options, revisions): (Vec<&str>, Vec<&str>) =
                    revisions.iter().map(String::as_str).partition(|one| one.starts_with('-'));
                Lost::Commits(self.commits(&options, &revisions)?)
            }
            Effect::Rebases { branch, upstream, forces } => {
                let without = upstream.iter().map(|one| format!("^{one}"));
                let revisions: Vec<String> = [branch.clone()].into_iter().chain(without).collect();
                let revisions: Vec<&str> = revisions.iter().map(String::as_str).collect();
                let commits = self.commits(&[], &revisions)?;
                if let (Some(upstream), false, false) = (upstream, *forces, commits.is_empty())
                    && self.tree.log(&["-n1"], COMMIT, &[upstream, &format!("^{branch}")])?.is_empty()
                {
                    return None;
                }
                Lost::Commits(commits)
            }
            Effect::TakesStash(Some(0)) if self.line.stashes => return None,
            Effect::TakesStash(number) => {
                let mut entries = self.tree.log(&["-g"], "%H", &["refs/stash"])?;
                if let Some(number) = number {
                    entries = entries.into_iter().skip(*number).take(1).collect();
                }
                Lost::Stash(entries)
            }
            Effect::ChecksOut(words) => return self.checkout(words),
            Effect::Switches(target) => return self.switch(target),
            Effect::RemovesTree(path) => return self.removal(path),
            Effect::Makes(makes) => {
                match makes {
                    Makes::Commits => self.line.commits = true,
                    Makes::Stash => self.line.stashes = true,
                }
                return None;
            }
        };
        let is_empty = match &lost {
            Lost::Changes(all) | Lost::Adds(all) | Lost::Commits(all) | Lost::Stash(all) => all.is_empty(),
            Lost::Tree { .. } => false,
        };
        Some(if is_empty { Vec::new() } else { vec![lost] })
    }

    /// The recorded files with changes of others among those that git shows.
    fn changes(&mut self, files: &Files) -> Option<Vec<String>> {
        let open = self.files.open_files(&self.tree.root, self.agent);
        if open.is_empty() {
            return None;
        }
        let paths: Vec<&str> = files.paths.iter().map(String::as_str).collect();
        let shown = self.tree.status(files.affected, &paths)?;
        Some(open.into_iter().filter(|path| shown.cover(path)).map(str::to_owned).collect())
    }

    fn cleaned(&mut self, arguments: &[String], paths: &[String]) -> Option<Vec<String>> {
        let open = self.files.open_files(&self.tree.root, self.agent);
        if open.is_empty() {
            return None;
        }
        let all = ["clean", "-n"].into_iter().chain(arguments.iter().map(String::as_str)).chain(["--"]);
        let all: Vec<&str> = all.chain(paths.iter().map(String::as_str)).collect();
        let text = self.tree.text(&all)?;
        let removed = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
        let shown = Shown(removed.filter_map(|path| self.tree.absolute(path)).collect());
        Some(open.into_iter().filter(|path| shown.cover(path)).map(str::to_owned).collect())
    }

    /// Remembers the files that a command names: adding those is not an accident.
    fn name(&mut self, paths: &[String]) {
        self.line.named.extend(paths.iter().filter_map(|path| self.tree.absolute(path)));
    }

    /// The recorded commits of these revisions.
    fn commits(&mut self, options: &[&str], revisions: &[&str]) -> Option<Vec<String>> {
        if !self.files.has_makers(self.agent) {
            return None;
        }
        let mut commits = self.tree.log(options, COMMIT, revisions)?;
        commits.retain(|commit| self.files.maker(commit).is_some());
        Some(commits)
    }

    fn checkout(&mut self, words: &[String]) -> Option<Vec<Lost>> {
        let (first, rest) = words.split_first()?;
        let is_revision = self.tree.is_revision(first);
        let is_path = |word: &String| {
            !is_plain(word)
                || word.starts_with(':')
                || self.tree.directory.join(word).symlink_metadata().is_ok()
        };
        if rest.is_empty() && (is_revision || !is_path(first)) {
            return self.switch(first);
        }
        let (paths, affected) = match is_revision {
            true => (rest, Affected::Tracked),
            false => (words, Affected::Unstaged),
        };
        self.ask(&Effect::Discards(Files { paths: paths.to_vec(), affected }))
    }

    fn switch(&mut self, target: &str) -> Option<Vec<Lost>> {
        let lost = self.tree_in_use(Affected::Both)?;
        let branch = self.tree.text(&["rev-parse", "--abbrev-ref", "HEAD"])?;
        if target == "HEAD" || branch.trim_end() == target { None } else { Some(lost) }
    }

    /// The working tree with the changed files of others, if other agents use it.
    fn tree_in_use(&mut self, affected: Affected) -> Option<Vec<Lost>> {
        let used = self.files.used_files(&self.tree.root, self.agent);
        let used: Vec<String> =
            used.into_iter().filter(|path| self.tree.has(path)).map(str::to_owned).collect();
        if used.is_empty() {
            return None;
        }
        let all = Files { paths: vec![":/".to_owned()], affected };
        let changed = self.changes(&all).unwrap_or_default();
        Some(vec![Lost::Tree { used, changed }])
    }

    fn removal(&mut self, path: &str) -> Option<Vec<Lost>> {
        let removed = Tree::of(&self.tree.directory.join(path), self.tree.git.until)?;
        let outer = std::mem::replace(self.tree, removed);
        let lost = self.tree_in_use(Affected::All);
        *self.tree = outer;
        lost
    }
}

/// Whether the commits are counted from the last one: `HEAD~1`, or only the last one.
fn is_relative(revisions: &[String]) -> bool {
    const STARTS: [&str; 5] = ["^HEAD~", "^HEAD^", "^@~", "^@^", "-n1"];
    revisions.iter().any(|one| STARTS.iter().any(|start| one.starts_with(start)))
}

/// The root of the working tree around a directory. A worktree and a submodule have a file `.git`.
fn root_of(directory: &Path) -> Option<String> {
    let root = directory.ancestors().find(|one| one.join(".git").symlink_metadata().is_ok())?;
    recorded_path(root.to_path_buf())
}

/// Files and directories that git lists, as absolute paths.
struct Shown(Vec<String>);

impl Shown {
    fn cover(&self, path: &str) -> bool {
        self.0.iter().any(|shown| shown == path || (shown.ends_with('/') && is_below(path, shown)))
    }
}

/// A git working tree, and a directory in it.
struct Tree {
    directory: PathBuf,
    root: String,
    git: Git,
    /// Whether git starts no program of the configuration.
    is_safe: bool,
}

impl Tree {
    /// `None` outside of a working tree. A directory that does not exist yet can become another one.
    fn of(directory: &Path, until: Instant) -> Option<Tree> {
        let directory = resolved(directory).filter(|directory| directory.is_dir())?;
        let root = root_of(&directory)?;
        let mut git = Git::until(&directory, until);
        git.set("LC_ALL", "C");
        Some(Tree { directory, root, git, is_safe: false })
    }

    fn text(&self, arguments: &[&str]) -> Option<String> {
        String::from_utf8(self.git.output(arguments)?).ok()
    }

    /// The absolute path of an argument, if it is one without magic.
    fn absolute(&self, path: &str) -> Option<String> {
        let resolved = recorded_path(resolved(&self.directory.join(path))?)?;
        Some(if path.ends_with('/') { resolved + "/" } else { resolved })
    }

    fn is_revision(&self, word: &str) -> bool {
        let word = if word == "-" { "@{-1}" } else { word };
        self.git
            .output(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{word}^{{commit}}")])
            .is_some()
    }

    /// The commits of revisions in a format, as they are recorded.
    fn log(&self, options: &[&str], format: &str, revisions: &[&str]) -> Option<Vec<String>> {
        let format = format!("--format={format}");
        let first = ["log", "-n500", &format].into_iter();
        let all = first.chain(options.iter().copied());
        // Without revisions, options such as --remotes name them.
        let end = (!revisions.is_empty()).then_some("--end-of-options");
        let all: Vec<&str> = all.chain(end).chain(revisions.iter().copied()).chain(["--"]).collect();
        Some(self.text(&all)?.lines().map(mark).collect())
    }

    /// The files that git shows with such changes, of these paths.
    fn status(&mut self, affected: Affected, paths: &[&str]) -> Option<Shown> {
        if !self.is_safe {
            self.git.disable_programs()?;
            self.is_safe = true;
        }
        let untracked = matches!(affected, Affected::Both | Affected::All);
        let untracked = if untracked { "--untracked-files=all" } else { "--untracked-files=no" };
        let ignored = (affected == Affected::All).then_some("--ignored=matching");
        let first = ["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", untracked];
        let all = first.into_iter().chain(ignored).chain(["--"]).chain(paths.iter().copied());
        let text = self.text(&all.collect::<Vec<_>>())?;
        // Each entry is one character for the index, one for the working tree, a space and the path from the root.
        let shown = text.split('\0').filter_map(|entry| Some((entry.get(..2)?.as_bytes(), entry.get(3..)?)));
        let shown = shown.filter(|(state, _)| match affected {
            Affected::Unstaged => state[1] != b' ',
            Affected::Staged => state[0] != b' ',
            Affected::Tracked | Affected::Both | Affected::All => true,
        });
        // `/` and `C:/` end with a slash already.
        let root = self.root.trim_end_matches('/');
        Some(Shown(shown.map(|(_, path)| format!("{root}/{path}")).collect()))
    }

    /// Whether a file below the root is in this working tree, and not in one inside it, such as a worktree of Claude Code.
    fn has(&self, path: &str) -> bool {
        Path::new(path).parent().and_then(root_of).as_ref() == Some(&self.root)
    }

    /// The last commit and the last entry of the stash.
    fn tops(&self) -> Vec<String> {
        let top = |revision: &str| self.log(&["-n1"], "%H", &[revision]).unwrap_or_default();
        top("HEAD").into_iter().chain(top("refs/stash")).collect()
    }

    /// The commits and stash entries that were made since a call began, as the reflogs have them: also of branches that are
    /// no longer checked out.
    fn made(&self, call: &GitCall) -> Option<Vec<String>> {
        let since = |text: &str| text.parse().is_ok_and(|time: i64| time >= call.since);
        let new = |format: &str, reflog: &str| -> Option<Vec<String>> {
            let format = format!("--format=%ct %H {format}");
            let text = self.text(&["log", "-g", "-n100", &format, reflog, "--"])?;
            let entries = text.lines().filter_map(|line| {
                let mut parts = line.splitn(3, ' ');
                let (time, hash, made) = (parts.next()?, parts.next()?, parts.next()?);
                (since(time) && !call.tops.contains(&mark(hash))).then(|| mark(made))
            });
            Some(entries.collect())
        };
        let commits = new(COMMIT, "HEAD").unwrap_or_default();
        Some(commits.into_iter().chain(new("%H", "refs/stash").unwrap_or_default()).collect())
    }

    /// Sorts the files that agents changed by whether git shows them as changed.
    fn compare(&mut self, files: &FileHistory, access: &mut GitAccess) {
        let mut changed = files.changed_files(&self.root);
        changed.retain(|path| self.has(path));
        let below =
            |path: &&str| format!(":(top,literal){}", path[self.root.len()..].trim_start_matches('/'));
        let paths: Vec<String> = changed.iter().map(below).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        if let Some(shown) = if paths.is_empty() { None } else { self.status(Affected::All, &paths) } {
            let (shown, settled) = changed.into_iter().map(str::to_owned).partition(|path| shown.cover(path));
            access.shown.extend::<Vec<_>>(shown);
            access.settled.extend::<Vec<_>>(settled);
        }
    }
}
