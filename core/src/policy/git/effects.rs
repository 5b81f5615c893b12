//! The effects of each git subcommand.

use super::options::Options;
use super::{Affected, GitEffect, MAX_PATHS, PathArgument, is_known};

/// A name for reasons, and the effects; none if the command only reads.
type Effects = (&'static str, Vec<GitEffect<Vec<PathArgument>>>);

/// The effects of a subcommand with these arguments.
pub fn of(subcommand: &str, rest: &[String]) -> Effects {
    match subcommand {
        "add" | "stage" => add(rest),
        "checkout" => checkout(rest),
        "clean" => clean(rest),
        "commit" => commit(rest),
        "filter-branch" => ("filter-branch", vec![GitEffect::Rewrites]),
        "filter-repo" => ("filter-repo", vec![GitEffect::Rewrites]),
        "push" => push(rest),
        "rebase" => rebase(rest),
        "reset" => reset(rest),
        "restore" => restore(rest),
        "stash" => stash(rest),
        "switch" => switch(rest),
        _ => ("", Vec::new()),
    }
}

/// Paths in arguments. An unknown one is left out, and all of them beside a path that is excluded: it can be the decisive one.
fn paths(words: &[&str]) -> Vec<PathArgument> {
    let excludes = |word: &&str| {
        let magic =
            word.strip_prefix(":(").and_then(|rest| rest.split_once(')')).map_or("", |(magic, _)| magic);
        word.starts_with(":!") || word.starts_with(":^") || magic.split(',').any(|one| one == "exclude")
    };
    if words.iter().any(excludes) {
        return Vec::new();
    }
    let known = words.iter().filter(|word| is_known(word) && !word.starts_with('~'));
    let path = |word: &str| match word.strip_prefix(":/").or_else(|| word.strip_prefix(":(top)")) {
        Some("") => Some(PathArgument::Top),
        // Other magic is not understood.
        _ if word.starts_with(':') => None,
        _ => Some(PathArgument::Below(word.to_owned())),
    };
    known.filter_map(|word| path(word)).take(MAX_PATHS).collect()
}

/// The paths, or the whole tree without any.
fn paths_or(words: &[&str], all: PathArgument) -> Vec<PathArgument> {
    if words.is_empty() { vec![all] } else { paths(words) }
}

fn here() -> PathArgument {
    PathArgument::Below(".".to_owned())
}

fn add(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "", &["chmod", "pathspec-from-file"]);
    let named = options.all_words();
    let updates = options.has('u', "update");
    let all = updates || options.has('A', "all") || options.has_long("no-ignore-removal");
    let picks = options.has('p', "patch") || options.has('i', "interactive") || options.has('e', "edit");
    let stages_nothing =
        options.has('n', "dry-run") || options.has('N', "intent-to-add") || options.has_long("refresh");
    let staged = match named.as_slice() {
        _ if picks || stages_nothing => Vec::new(),
        [] if all => vec![PathArgument::Top],
        named => paths(named),
    };
    let (name, files) = match (updates, all) {
        (true, _) => ("add --update", Affected::Tracked),
        (false, true) => ("add --all", Affected::Both),
        (false, false) => ("add", Affected::Both),
    };
    (name, if staged.is_empty() { Vec::new() } else { vec![GitEffect::Stages(staged, files)] })
}

fn commit(arguments: &[String]) -> Effects {
    const VALUES: &[&str] = &[
        "author",
        "cleanup",
        "date",
        "file",
        "fixup",
        "message",
        "pathspec-from-file",
        "reedit-message",
        "reuse-message",
        "squash",
        "template",
        "trailer",
    ];
    let options = Options::of(arguments, "mFCct=Su", VALUES);
    if options.has_long("dry-run") {
        return ("commit", Vec::new());
    }
    let (all, amends) = (options.has('a', "all"), options.has_long("amend"));
    let staged = if all { vec![PathArgument::Top] } else { paths(&options.all_words()) };
    let stages = (!staged.is_empty()).then_some(GitEffect::Stages(staged, Affected::Tracked));
    let commits = if amends { GitEffect::Amends } else { GitEffect::Commits };
    let name = match (amends, all) {
        (true, _) => "commit --amend",
        (false, true) => "commit --all",
        (false, false) => "commit",
    };
    (name, stages.into_iter().chain([commits]).collect())
}

/// Whether `reset` moves the branch to another commit.
fn moves(revision: &str, hard: bool) -> bool {
    let is_earlier = ["HEAD~", "HEAD^", "@~", "@^"].iter().any(|start| revision.starts_with(start));
    is_earlier || (hard && !matches!(revision, "HEAD" | "@"))
}

fn reset(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "", &["pathspec-from-file"]);
    let hard = options.has_long("hard");
    // With paths, only the index changes.
    let moves = matches!(options.all_words()[..], [revision] if is_known(revision) && moves(revision, hard));
    let lost = GitEffect::Discards(vec![PathArgument::Top], Affected::Tracked);
    let discards = hard.then_some(lost);
    let rewrites = moves.then_some(GitEffect::Rewrites);
    (if hard { "reset --hard" } else { "reset" }, discards.into_iter().chain(rewrites).collect())
}

fn discards(paths: Vec<PathArgument>, files: Affected) -> Vec<GitEffect<Vec<PathArgument>>> {
    if paths.is_empty() { Vec::new() } else { vec![GitEffect::Discards(paths, files)] }
}

fn checkout(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "bB", &["conflict", "orphan", "pathspec-from-file"]);
    let creates = options.has('b', "orphan") || options.has('B', "orphan") || options.has('t', "track");
    let is_path = |word: &&str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        *word == "."
            || file.is_empty()
            || word.starts_with("./")
            || word.starts_with(":/")
            || file.contains('.')
    };
    let lost = match &options.after {
        Some(after) => paths(after),
        None if creates => Vec::new(),
        None if options.has('f', "force") => vec![PathArgument::Top],
        // A branch and a path look alike. These are paths or, with another name before them, can only be paths.
        None => paths(&options.words.iter().copied().filter(is_path).collect::<Vec<_>>()),
    };
    let name = if options.has('f', "force") { "checkout --force" } else { "checkout" };
    (name, discards(lost, Affected::Tracked))
}

fn switch(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "cC", &["conflict", "create", "force-create", "orphan"]);
    let forces = options.has('f', "force") || options.has_long("discard-changes");
    let lost = if forces { vec![PathArgument::Top] } else { Vec::new() };
    ("switch --discard-changes", discards(lost, Affected::Tracked))
}

fn restore(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "s", &["conflict", "pathspec-from-file", "source"]);
    let only_index = options.has('S', "staged") && !options.has('W', "worktree");
    let named = options.all_words();
    let lost = if only_index || options.has('p', "patch") { Vec::new() } else { paths(&named) };
    ("restore", discards(lost, Affected::Tracked))
}

fn clean(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "e", &["exclude"]);
    // The files that are ignored or excluded are not known here.
    let is_partial = options.has_short('X') || options.has('e', "exclude");
    let runs = options.has('f', "force") && !options.has('n', "dry-run") && !is_partial;
    let lost = if runs { paths_or(&options.all_words(), here()) } else { Vec::new() };
    ("clean --force", discards(lost, Affected::Untracked))
}

fn stash(arguments: &[String]) -> Effects {
    let (first, rest) = match arguments.split_first() {
        Some((first, rest)) if !first.starts_with('-') => (first.as_str(), rest),
        _ => ("push", arguments),
    };
    let options = Options::of(rest, "m", &["message", "pathspec-from-file"]);
    let picks = options.has('p', "patch") || options.has('S', "staged");
    let named = options.all_words();
    let lost = match first {
        "push" if !picks => paths_or(&named, PathArgument::Top),
        // Its words are the message.
        "save" if !picks => vec![PathArgument::Top],
        _ => Vec::new(),
    };
    let untracked = options.has('u', "include-untracked") || options.has('a', "all");
    ("stash", discards(lost, if untracked { Affected::Both } else { Affected::Tracked }))
}

fn rebase(arguments: &[String]) -> Effects {
    let continues = ["abort", "continue", "edit-todo", "quit", "show-current-patch", "skip"];
    let options = Options::of(arguments, "xsX", &["exec", "onto", "strategy", "strategy-option"]);
    let rewrites = !continues.iter().any(|option| options.has_long(option));
    ("rebase", if rewrites { vec![GitEffect::Rewrites] } else { Vec::new() })
}

fn push(arguments: &[String]) -> Effects {
    let options = Options::of(arguments, "o", &["exec", "push-option", "receive-pack", "repo"]);
    let forced =
        options.has('f', "force") || options.has_long("force-with-lease") || options.has_long("mirror");
    let plus = options.all_words().iter().any(|word| word.starts_with('+'));
    let rewrites = (forced || plus) && !options.has('n', "dry-run");
    ("push --force", if rewrites { vec![GitEffect::Rewrites] } else { Vec::new() })
}
