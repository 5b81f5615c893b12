//! The effects of each git subcommand, as questions (git answers which work is lost), and its options and words.

use super::{Affected, Effect, Files, Makes, is_known};

/// A name for reasons, and the effects; none if the command only reads.
pub(super) type Effects = (&'static str, Vec<Effect>);

/// All files of the working tree.
const TOP: &str = ":/";
/// Long options with a value, of all subcommands. They count by their whole names: `--force` is the start of `force-create`.
#[rustfmt::skip]
const LONG_VALUES: [&str; 29] = [
    "author", "chmod", "cleanup", "conflict", "create", "date", "exclude", "exec", "file", "fixup", "force-create", "message",
    "onto", "orphan", "pathspec-from-file", "prefix", "push-option", "receive-pack", "reedit-message", "repo", "reuse-message",
    "source", "squash", "stage", "strategy", "strategy-option", "template", "trailer", "whitespace",
];
/// Subcommands that lose nothing. Others are aliases, or unknown here.
const HARMLESS: &str = " annotate archive bisect blame bundle cat-file check-attr check-ignore check-ref-format cherry clone \
    column commit-graph commit-tree config count-objects credential describe diff diff-files diff-index diff-tree difftool fetch \
    for-each-ref format-patch fsck gc grep hash-object help init interpret-trailers lfs log ls-files ls-remote ls-tree \
    maintenance merge-base merge-tree mergetool name-rev notes pack-refs prune range-diff reflog remote repack rerere \
    rev-list rev-parse shortlog show show-branch show-ref sparse-checkout status stripspace submodule symbolic-ref tag \
    update-index update-ref var verify-commit verify-tag version whatchanged write-tree ";

/// The effects of a subcommand with these arguments, and whether all of them are understood.
pub(super) fn of(subcommand: &str, rest: &[String]) -> Option<(Effects, bool)> {
    if HARMLESS.contains(&format!(" {subcommand} ")) {
        return Some((("", Vec::new()), true));
    }
    let short = match subcommand {
        "branch" => "=u",
        "checkout" => "bB",
        "cherry-pick" | "merge" | "rebase" | "revert" => "msxXF=S",
        "clean" => "e",
        "commit" => "mFCct=Su",
        "push" => "o",
        "restore" => "s",
        "stash" => "m",
        "switch" => "cC",
        _ => "",
    };
    let options = Options::of(rest, short, &LONG_VALUES);
    let effects = match subcommand {
        "add" | "stage" => add(&options),
        "am" | "cherry-pick" | "merge" | "pull" | "revert" => ("", vec![Effect::Makes(Makes::Commits)]),
        "apply" => apply(&options),
        "branch" => branch(&options),
        "checkout" => checkout(&options),
        "checkout-index" => checkout_index(&options),
        "clean" => clean(&options),
        "commit" => commit(&options),
        "filter-branch" | "filter-repo" => ("filter-branch", vec![drops(&["HEAD"])]),
        "mv" => overwrites(&options),
        "push" => push(&options),
        "read-tree" if options.has_long("reset") => {
            ("read-tree --reset", discards(vec![TOP], Affected::Tracked))
        }
        "rebase" => rebase(&options),
        "reset" => reset(&options),
        "restore" => restore(&options),
        "rm" => remove(&options),
        "stash" => stash(&options),
        "switch" => switch(&options),
        "worktree" => worktree(&options),
        "read-tree" => ("", Vec::new()),
        _ => return None,
    };
    Some((effects, !options.is_partial))
}

/// The commits of these revisions, `^Y` for those that stay.
fn drops(revisions: &[&str]) -> Effect {
    Effect::Drops(revisions.iter().map(|one| (*one).to_owned()).collect())
}

fn deletion(branch: &str) -> Effect {
    let (own, branch) = (format!("--exclude={branch}"), format!("refs/heads/{branch}"));
    drops(&["--not", &own, "--branches", "--remotes", "--not", &branch])
}

fn files(paths: Vec<&str>, affected: Affected) -> Option<Files> {
    let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
    (!paths.is_empty()).then_some(Files { paths, affected })
}

fn discards(paths: Vec<&str>, affected: Affected) -> Vec<Effect> {
    files(paths, affected).map(Effect::Discards).into_iter().collect()
}

fn add(options: &Options<'_>) -> Effects {
    let updates = options.has('u', "update");
    let all = updates || options.has('A', "all") || options.has_long("no-ignore-removal");
    let picks = options.has('p', "patch") || options.has('i', "interactive") || options.has('e', "edit");
    let is_empty =
        options.has('n', "dry-run") || options.has('N', "intent-to-add") || options.has_long("refresh");
    let named = options.all_words();
    let named = if picks || is_empty {
        Vec::new()
    } else if all && named.is_empty() && !options.is_partial {
        // All paths, if none is named.
        vec![TOP]
    } else {
        named
    };
    let name = match (updates, all) {
        (true, _) => "add --update",
        (false, true) => "add --all",
        (false, false) => "add",
    };
    let affected = if updates { Affected::Unstaged } else { Affected::Both };
    (name, files(named, affected).map(Effect::Stages).into_iter().collect())
}

fn commit(options: &Options<'_>) -> Effects {
    if options.has_long("dry-run") {
        return ("commit", Vec::new());
    }
    let (all, amends) = (options.has('a', "all"), options.has_long("amend"));
    let named = options.all_words();
    let mut effects = Vec::new();
    // With paths, only those are committed, whatever the index has.
    if (named.is_empty() && !all && !options.is_partial) || options.has('i', "include") {
        effects.extend(files(vec![TOP], Affected::Staged).map(Effect::Stages));
    }
    let staged = if all { vec![TOP] } else { named };
    effects.extend(files(staged, Affected::Tracked).map(Effect::Stages));
    if amends {
        effects.push(drops(&["-n1", "HEAD"]));
    }
    effects.push(Effect::Makes(Makes::Commits));
    let name = match (amends, all) {
        (true, _) => "commit --amend",
        (false, true) => "commit --all",
        (false, false) => "commit",
    };
    (name, effects)
}

fn reset(options: &Options<'_>) -> Effects {
    let hard = options.has_long("hard");
    let mut effects = if hard { discards(vec![TOP], Affected::Tracked) } else { Vec::new() };
    // With paths, only the index changes.
    if let ([revision], None) = (&options.words[..], &options.after) {
        effects.push(drops(&["HEAD", &format!("^{revision}")]));
    }
    (if hard { "reset --hard" } else { "reset" }, effects)
}

fn checkout(options: &Options<'_>) -> Effects {
    let forces = options.has('f', "force");
    let name = if forces { "checkout --force" } else { "checkout" };
    let mut effects = Vec::new();
    if options.has('p', "patch") {
        return (name, effects);
    }
    if let Some(branch) = options.value("B", "") {
        let start = options.words.first().unwrap_or(&"HEAD");
        effects.push(drops(&[&format!("refs/heads/{branch}"), &format!("^{start}")]));
    }
    let created = options.value("B", "").or(options.value("b", "orphan"));
    if forces && options.after.is_none() {
        effects.extend(discards(vec![TOP], Affected::Tracked));
    }
    effects.extend(match (created, &options.after) {
        (Some(branch), _) => vec![Effect::Switches(branch.to_owned())],
        // With a revision, the index is replaced, too.
        (None, Some(after)) if options.words.is_empty() => discards(after.clone(), Affected::Unstaged),
        (None, Some(after)) => discards(after.clone(), Affected::Tracked),
        (None, None) if options.has('t', "track") || options.has('d', "detach") => {
            vec![Effect::Switches(String::new())]
        }
        (None, None) if options.words.is_empty() => Vec::new(),
        (None, None) => {
            vec![Effect::ChecksOut(options.words.iter().map(|word| (*word).to_owned()).collect())]
        }
    });
    (name, effects)
}

fn switch(options: &Options<'_>) -> Effects {
    let forces = options.has('f', "force") || options.has_long("discard-changes");
    let name = if forces { "switch --discard-changes" } else { "switch" };
    let mut effects = if forces { discards(vec![TOP], Affected::Tracked) } else { Vec::new() };
    let replaced = options.value("C", "force-create");
    if let Some(branch) = replaced {
        let start = options.words.first().unwrap_or(&"HEAD");
        effects.push(drops(&[&format!("refs/heads/{branch}"), &format!("^{start}")]));
    }
    let created = replaced.or(options.value("c", "create")).or(options.value("", "orphan"));
    let target = created.or(options.words.first().copied()).unwrap_or_default();
    effects.push(Effect::Switches(target.to_owned()));
    (name, effects)
}

fn branch(options: &Options<'_>) -> Effects {
    let forces = options.has('f', "force");
    let deletes = options.has_short('D') || (options.has('d', "delete") && forces);
    let effects = match &options.words[..] {
        // Commits that another branch has are not lost.
        names if deletes => names.iter().map(|name| deletion(name)).collect(),
        [name, rest @ ..] if forces => {
            let start = rest.first().unwrap_or(&"HEAD");
            vec![drops(&[&format!("refs/heads/{name}"), &format!("^{start}")])]
        }
        _ => Vec::new(),
    };
    (if deletes { "branch -D" } else { "branch --force" }, effects)
}

fn restore(options: &Options<'_>) -> Effects {
    let (index, worktree) = (options.has('S', "staged"), options.has('W', "worktree"));
    let affected = if index { Affected::Tracked } else { Affected::Unstaged };
    let is_harmless = (index && !worktree) || options.has('p', "patch");
    let named = if is_harmless { Vec::new() } else { options.all_words() };
    ("restore", discards(named, affected))
}

fn clean(options: &Options<'_>) -> Effects {
    let runs = options.has('f', "force") && !options.has('n', "dry-run");
    // git lists what a command with these arguments removes.
    let letters = ['d', 'x', 'X'].iter().filter(|letter| options.has_short(**letter));
    let mut arguments: Vec<String> = letters.map(|letter| format!("-{letter}")).collect();
    let excluded = options.values.iter().filter(|(name, _)| matches!(*name, "e" | "exclude"));
    arguments.extend(excluded.map(|(_, pattern)| format!("--exclude={pattern}")));
    let paths = options.all_words().into_iter().map(str::to_owned).collect();
    let effect = Effect::Cleans(arguments, paths);
    ("clean --force", if runs && !options.is_partial { vec![effect] } else { Vec::new() })
}

fn stash(options: &Options<'_>) -> Effects {
    let (first, rest) = match options.words.split_first() {
        Some((first, rest)) => (*first, rest),
        None => ("push", &[][..]),
    };
    let picks = options.has('p', "patch");
    let affected = match () {
        () if options.has('S', "staged") => Affected::Staged,
        () if options.has('a', "all") => Affected::All,
        () if options.has('u', "include-untracked") => Affected::Both,
        () => Affected::Tracked,
    };
    let entry = |text: &str| text.trim_start_matches("stash@{").trim_end_matches('}').parse().ok();
    let number = match rest.first() {
        Some(text) => entry(text),
        None if options.is_partial => None,
        None => Some(0),
    };
    let taken = || number.map(|number| Effect::TakesStash(Some(number))).into_iter().collect();
    let push = |paths: Vec<&str>| {
        let paths = if paths.is_empty() && !options.is_partial { vec![TOP] } else { paths };
        let effects = if picks { Vec::new() } else { discards(paths, affected) };
        effects.into_iter().chain([Effect::Makes(Makes::Stash)]).collect()
    };
    match first {
        "push" => {
            let after = options.after.iter().flatten();
            ("stash", push(rest.iter().chain(after).copied().collect()))
        }
        // Its words are the message.
        "save" => ("stash", push(Vec::new())),
        "pop" => ("stash pop", taken()),
        "branch" => ("stash branch", vec![Effect::TakesStash(Some(0)), Effect::Switches(String::new())]),
        "drop" => ("stash drop", taken()),
        "clear" => ("stash clear", vec![Effect::TakesStash(None)]),
        _ => ("stash", Vec::new()),
    }
}

fn rebase(options: &Options<'_>) -> Effects {
    let continues = ["abort", "continue", "edit-todo", "quit", "show-current-patch", "skip"];
    if continues.iter().any(|option| options.has_long(option)) {
        return ("rebase", Vec::new());
    }
    let is_root = options.has_long("root");
    let (upstream, branch) = match &options.words[..] {
        [branch, ..] if is_root => (None, Some(*branch)),
        [] if is_root => (None, None),
        [] => (Some("@{upstream}"), None),
        [upstream, rest @ ..] => (Some(*upstream), rest.first().copied()),
    };
    // Without one of these, a branch that already contains the other stays unchanged.
    let forces = options.has('i', "interactive")
        || options.has('f', "force-rebase")
        || options.has_long("no-ff")
        || options.has_long("autosquash")
        || options.value("x", "exec").is_some()
        || options.value("", "onto").is_some();
    let effect = Effect::Rebases {
        branch: branch.unwrap_or("HEAD").to_owned(),
        upstream: upstream.map(str::to_owned),
        forces,
    };
    let switches = branch.map(|branch| Effect::Switches(branch.to_owned()));
    ("rebase", [effect].into_iter().chain(switches).chain([Effect::Makes(Makes::Commits)]).collect())
}

fn push(options: &Options<'_>) -> Effects {
    let forces =
        options.has('f', "force") || options.has_long("force-with-lease") || options.has_long("mirror");
    let deletes = options.has('d', "delete");
    if options.has('n', "dry-run") {
        return ("push", Vec::new());
    }
    let (remote, refs) = match &options.all_words()[..] {
        [] => ("origin", Vec::new()),
        [remote, refs @ ..] => (*remote, refs.to_vec()),
    };
    if refs.is_empty() {
        let all = options.has_long("mirror") || options.has_long("all");
        let lost =
            if all { drops(&["--remotes", "--not", "--branches"]) } else { drops(&["@{push}", "^HEAD"]) };
        return ("push --force", if forces { vec![lost] } else { Vec::new() });
    }
    let lost = refs.into_iter().filter_map(|text| {
        let (is_forced, text) = text.strip_prefix('+').map_or((forces, text), |text| (true, text));
        let (from, to) = text.split_once(':').unwrap_or(if deletes { ("", text) } else { (text, text) });
        let name = to.strip_prefix("refs/heads/").unwrap_or(to);
        let remote =
            if name == "HEAD" { "@{push}".to_owned() } else { format!("refs/remotes/{remote}/{name}") };
        match from {
            "" => Some(drops(&[&remote, "^HEAD"])),
            from if is_forced => Some(drops(&[&remote, &format!("^{from}")])),
            _ => None,
        }
    });
    (if deletes { "push --delete" } else { "push --force" }, lost.collect())
}

fn remove(options: &Options<'_>) -> Effects {
    let is_forced = options.has('f', "force") && !options.has_long("cached") && !options.has('n', "dry-run");
    ("rm --force", discards(if is_forced { options.all_words() } else { Vec::new() }, Affected::Tracked))
}

fn overwrites(options: &Options<'_>) -> Effects {
    let is_forced = options.has('f', "force") && !options.has('n', "dry-run");
    let target = options.all_words().last().copied().filter(|_| is_forced);
    ("mv --force", discards(target.into_iter().collect(), Affected::Both))
}

fn checkout_index(options: &Options<'_>) -> Effects {
    let paths = if options.has('a', "all") { vec![TOP] } else { options.all_words() };
    let is_forced = options.has('f', "force") && options.value("", "prefix").is_none();
    ("checkout-index --force", discards(if is_forced { paths } else { Vec::new() }, Affected::Unstaged))
}

/// The patch can come from a pipe, so the files are not known. It is applied to all below the directory.
fn apply(options: &Options<'_>) -> Effects {
    let is_read = ["check", "stat", "numstat", "summary", "cached"].iter().any(|name| options.has_long(name));
    let reverses = options.has('R', "reverse") && !is_read;
    ("apply --reverse", discards(if reverses { vec!["."] } else { Vec::new() }, Affected::Both))
}

fn worktree(options: &Options<'_>) -> Effects {
    let removed = match &options.all_words()[..] {
        ["remove", path] if options.has('f', "force") => vec![Effect::RemovesTree((*path).to_owned())],
        _ => Vec::new(),
    };
    ("worktree remove --force", removed)
}

// The options and words of a git subcommand.

/// The arguments of a subcommand.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    /// Letters of short options.
    short: Vec<char>,
    /// Names of long options, without their values.
    long: Vec<&'a str>,
    /// The values of options, with the name of each.
    pub values: Vec<(&'a str, &'a str)>,
    /// Arguments that are not options.
    pub words: Vec<&'a str>,
    /// The arguments after `--`, if it is there.
    pub after: Option<Vec<&'a str>>,
    /// Whether an argument is left out because it has an expansion.
    pub is_partial: bool,
}

impl<'a> Options<'a> {
    /// Reads arguments. These short and long options take the next argument, unless their value is in the same one. Short
    /// options after `=` take a value only in the same one: `-uno`.
    pub(super) fn of(arguments: &'a [String], short_values: &str, long_values: &[&str]) -> Options<'a> {
        let mut options = Options::default();
        let (short_values, same) = short_values.split_once('=').unwrap_or((short_values, ""));
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                let (known, unknown): (Vec<_>, Vec<_>) = rest.partition(|word| is_known(word));
                options.is_partial |= !unknown.is_empty();
                options.after = Some(known);
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                options.long.push(name);
                let takes_next = value.is_none() && long_values.contains(&name);
                let value = if takes_next { rest.next() } else { value };
                options.values.extend(value.map(|value| (name, value)));
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (at, letter) in letters.char_indices() {
                    options.short.push(letter);
                    let (name, more) = letters[at..].split_at(letter.len_utf8());
                    if short_values.contains(letter) {
                        let value = if more.is_empty() { rest.next() } else { Some(more) };
                        options.values.extend(value.map(|value| (name, value)));
                        break;
                    }
                    if same.contains(letter) {
                        break;
                    }
                }
            } else if is_known(argument) {
                options.words.push(argument);
            } else {
                options.is_partial = true;
            }
        }
        options
    }

    pub(super) fn has(&self, letter: char, name: &str) -> bool {
        self.has_short(letter) || self.has_long(name)
    }

    pub(crate) fn has_short(&self, letter: char) -> bool {
        self.short.contains(&letter)
    }

    /// Whether a long option is there. git also takes the start of a name; a few letters could be any.
    pub(crate) fn has_long(&self, name: &str) -> bool {
        self.long.iter().any(|long| *long == name || (long.len() > 3 && name.starts_with(long)))
    }

    /// The value of an option.
    pub(super) fn value(&self, letter: &str, name: &str) -> Option<&'a str> {
        let named = |(key, _): &&(&str, &str)| *key == letter || *key == name;
        self.values.iter().find(named).map(|(_, value)| *value)
    }

    /// All arguments that are not options, before and after `--`.
    pub(crate) fn all_words(&self) -> Vec<&'a str> {
        self.words.iter().chain(self.after.iter().flatten()).copied().collect()
    }
}
