# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_teamkeep_global_optspecs
    string join \n h/help V/version
end

function __fish_teamkeep_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_teamkeep_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_teamkeep_using_subcommand
    set -l cmd (__fish_teamkeep_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c teamkeep -n "__fish_teamkeep_needs_command" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -s V -l version -d 'Print version'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "hook" -d 'Record one hook call: the payload comes on stdin'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "teams" -d 'List the teams on record'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "status" -d 'Say how the teams stand that are alive now'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "show" -d 'Show a run\'s roster, tasks and mail as they were'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "replay" -d 'Tell the story of a run'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "report" -d 'Say what a run amounts to: who did what, how long, at what cost, and what went wrong'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "restore" -d 'Give back a run\'s files, or put its unfinished tasks into a task list of the client'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "log" -d 'Show what was recorded'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "export" -d 'Write a run to one file that can be carried elsewhere'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "import" -d 'Bring a run on record that was exported elsewhere'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "verify" -d 'Look whether the record is whole'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "doctor" -d 'Look whether everything is set up, and say what mends what is not'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "prune" -d 'Remove old runs from the record: a plan first'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "config" -d 'Look after the configuration file'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "demo" -d 'Play a small recorded run and tell it; touches nothing of yours'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "policy" -d 'Look after the policy: check, show, trust, pause, allow'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "install" -d 'Add the hooks to the client\'s settings'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "uninstall" -d 'Take the hooks out of the client\'s settings again'
complete -c teamkeep -n "__fish_teamkeep_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand hook" -l plugin -d 'The call is the plugin\'s: an event that the settings\' own hooks record is left to them'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand hook" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand teams" -s a -l all -d 'Also sessions that had no team but started subagents, and teams that no session took part in'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand teams" -l json -d 'Print one JSON array'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand teams" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand status" -s w -l watch -d 'Draw it anew as it changes, until q or Ctrl-C'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand status" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand status" -l line -d 'One line for the client\'s `statusLine` setting, of the session that the JSON on stdin names; without one of the team that changed last. It never fails'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand status" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand show" -l at -d 'As of this moment: RFC 3339, `2026-02-03 04:05:06` (UTC), or from the start of the run, such as `+1m30s`, or an age (`10m`, `2h`). Without it each thing is shown as it was when it last existed' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand show" -l diff -d 'What changed between two moments, given in the same ways, the earlier first. What came and went in between is not in it: `replay --from --to` tells that' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand show" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand show" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l from -d 'Only from this moment on: RFC 3339, `2026-02-03 04:05:06` (UTC), from the start of the run (`+1m30s`), or an age (`10m`, `2h`)' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l to -d 'Only until this moment, given in the same ways' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l actor -d 'Only what this actor did: a name, an agent id, or `lead`, `teammate`, `subagent`; may be repeated' -r -f -a "lead\t''
teammate\t''
subagent\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l kind -d 'Only things of this kind, such as `message` or `task-completed`; may be repeated' -r -f -a "session-started\t''
team-created\t''
member-joined\t''
task-created\t''
task-found\t''
task-changed\t''
task-completed\t''
task-deleted\t''
task-erased\t''
turn-started\t''
message\t''
message-refused\t''
shutdown-requested\t''
shutdown-approved\t''
shutdown-rejected\t''
turn-ended\t''
idle\t''
member-left\t''
session-ended\t''
team-erased\t''
verdict\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l format -d 'How it is told: `json` is one object a line, `mermaid` a sequence diagram' -r -f -a "text\t'Lines for people'
json\t'One JSON object a line'
mermaid\t'A Mermaid sequence diagram'"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l speed -d 'Play it in time, so many times as fast as it was (`10x`, `0.5x`, `max`): on a terminal with the roster and the tasks as they change, in a pipe as lines. A pause takes 2 s at most' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l json -d 'The same as --format json'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -s a -l all -d 'Also tell what the client says by itself (who is idle, who was given a task, who has shut down), that the lead is in its own team, and the beginnings of turns that no prompt began'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -l full -d 'Print messages, prompts and what agents said at the end of their turns in full, below their lines (but not on the screen of --speed)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -s f -l follow -d 'Go on with a run that is alive until it ends. What is learned late is told late, with the time when it was'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -l format -d 'What to write' -r -f -a "text\t'For the terminal'
markdown\t'As GitHub reads it'
json\t'For programs: docs/report.md describes it'
html\t'One page for a browser, which needs no network: write it with -o'"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -s o -l output -d 'Write into this file instead of to stdout; it is readable by you alone' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -l json -d 'The same as --format json'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -l force -d 'Write over the file'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -l redact -d 'Take out of every text what others are not to see: keys, tokens, addresses, the home directory, and what [privacy] in the configuration names'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -s a -l all -d 'Also list what the client says by itself, and its own helpers'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l at -d 'As of this moment: RFC 3339, `2026-02-03 04:05:06` (UTC), or from the start of the run, such as `+1m30s`. Without it each thing is given back as it was when it last existed, as `show` shows it' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l to -d 'Write the run\'s files into this directory, laid out as below ~/.claude' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l tasks -d 'Put the run\'s unfinished tasks into the client\'s task list of this team or session' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l undo -d 'Take a restore of tasks back: what is still as it was written goes' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l all -d 'With --tasks: completed and deleted tasks as well'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l keep-owners -d 'With --tasks: leave owners, and tasks in progress, as they were'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l force -d 'With --tasks: although a client that runs holds the list. With --to: into a directory that is not empty, over nothing that is there'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l dry-run -d 'Show the plan and write nothing'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -s y -l yes -d 'With --tasks: write. Without it there is only the plan'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l team -d 'Only events of this team' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l session -d 'Only events of the session whose id begins so' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l event -d 'Only this event (`SubagentStop` or `subagent-stop`); may be repeated' -r -f -a "subagent-start\t''
subagent-stop\t''
teammate-idle\t''
task-completed\t''
task-created\t''
pre-tool-use\t''
post-tool-use\t''
session-start\t''
session-end\t''
stop\t''
stop-failure\t''
user-prompt-submit\t''
pre-compact\t''
file-changed\t''
notification\t''
post-tool-use-failure\t''
post-tool-batch\t''
permission-request\t''
permission-denied\t''
user-prompt-expansion\t''
post-compact\t''
pre-model-switch\t''
post-model-switch\t''
setup\t''
elicitation\t''
elicitation-result\t''
config-change\t''
instructions-loaded\t''
cwd-changed\t''
directory-added\t''
worktree-remove\t''
verdict\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l actor -d 'Only what this actor did: a name, an agent id, or a kind (lead, teammate, subagent, helper, unknown)' -r -f -a "lead\t''
teammate\t''
subagent\t''
helper\t''
unknown\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l since -d 'Only events since this time: RFC 3339, `2026-02-03 04:05:06` (UTC), or an age: `10m`, `2h`, `1d` ago' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l until -d 'Only events until this time, given in the same ways' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -s n -l lines -d 'Only the last COUNT events' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -s f -l follow -d 'Wait for new events, after the last 10 (or -n, or --since)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -l json -d 'Print the lines as they were recorded: JSON, one a line'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand log" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand export" -s o -l output -d 'Where to write it; `-` for stdout' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand export" -l redact -d 'Take out of every text what [privacy] in the configuration says'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand export" -l force -d 'Write over a file that is there'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand import" -l max-size -d 'The most that it may unpack to, however small it is; without it 4 GiB, and 200 times its own size' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand verify" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand doctor" -l fix -d 'Mend what is safe to mend: put missing hooks into the user\'s settings, and close the record to others'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -l older-than -d 'Runs that have been over for longer: `30d`, `12h`' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -l keep -d 'All but the newest COUNT runs' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -l max-size -d 'The oldest runs, until the archive has no more than this' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -l dry-run -d 'Show what would go, and change nothing: so it is without --yes as well'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -s y -l yes -d 'Do it'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and not __fish_seen_subcommand_from path init schema help" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and not __fish_seen_subcommand_from path init schema help" -f -a "path" -d 'Tell where the configuration files are, and whether they exist'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and not __fish_seen_subcommand_from path init schema help" -f -a "init" -d 'Write a configuration file with every key at its default, each with a comment'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and not __fish_seen_subcommand_from path init schema help" -f -a "schema" -d 'Print the JSON Schema of the file, for editors'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and not __fish_seen_subcommand_from path init schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from init" -l force -d 'Write over the file that is there'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "path" -d 'Tell where the configuration files are, and whether they exist'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a configuration file with every key at its default, each with a comment'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "schema" -d 'Print the JSON Schema of the file, for editors'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand demo" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "check" -d 'Find everything that is wrong with the policy\'s files'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "show" -d 'Show the policy in force: every key, its value, where it comes from'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "trust" -d 'Let a project\'s checks and rules run, as they are now'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "test" -d 'Run recorded runs through a policy: what it would have blocked, and what really happened'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "explain" -d 'Show how the policy decides on a payload that comes on stdin'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "pause" -d 'Let a gate, or all, hold nothing back for a time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "resume" -d 'End pauses before their time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "allow" -d 'Let one occasion through'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "pauses" -d 'List what is let through at present'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and not __fish_seen_subcommand_from check show trust test explain pause resume allow pauses help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from show" -l json -d 'One JSON object, for programs'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from trust" -l project -d 'The project, instead of the one of the current directory' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from trust" -l remove -d 'Let them run no more'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from trust" -l list -d 'List what is trusted'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from trust" -s y -l yes -d 'Do not ask'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l policy -d 'Another policy than the one in force; a project\'s file tightens it only with --project' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l project -d 'The project whose `.claude/teamkeep.toml` tightens the policy, instead of the one that is meant by itself' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l against -d 'Show only where this policy decides otherwise' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l expect -d 'Fail unless these events get these verdicts: {"event": …, "decision": …, "gate": …}, one a line or an array' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l strict -d 'With --expect: every other event must have no objection'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -l json -d 'Print one JSON object a line'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from explain" -l run -d 'Judge the payload as the next event of this run, with the team as it last was' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from explain" -l policy -d 'Another policy than the one in force; a project\'s file tightens it only with --project' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from explain" -l project -d 'The project whose `.claude/teamkeep.toml` tightens the policy, instead of the one that is meant by itself' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from pause" -l gate -d 'Only this gate; `rule` for your own rules' -r -f -a "premature-shutdown\t''
protect-lead\t''
idle-with-work\t''
completion-check\t''
unfinished-dependencies\t''
report-before-idle\t''
team-size\t''
lead-stops-early\t''
rule\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from pause" -l team -d 'Only in this team' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from resume" -l gate -d 'Only this gate; `rule` for your own rules' -r -f -a "premature-shutdown\t''
protect-lead\t''
idle-with-work\t''
completion-check\t''
unfinished-dependencies\t''
report-before-idle\t''
team-size\t''
lead-stops-early\t''
rule\t''"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from resume" -l team -d 'Only in this team' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from allow" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from allow" -f -a "shutdown" -d 'The next request to stop a teammate that `premature-shutdown` would hold back'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from allow" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from pauses" -l json -d 'Print one JSON object'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from pauses" -s h -l help -d 'Print help'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "check" -d 'Find everything that is wrong with the policy\'s files'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the policy in force: every key, its value, where it comes from'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "trust" -d 'Let a project\'s checks and rules run, as they are now'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "test" -d 'Run recorded runs through a policy: what it would have blocked, and what really happened'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Show how the policy decides on a payload that comes on stdin'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "pause" -d 'Let a gate, or all, hold nothing back for a time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "resume" -d 'End pauses before their time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "allow" -d 'Let one occasion through'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "pauses" -d 'List what is let through at present'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand policy; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -l scope -d 'Whose sessions' -r -f -a "user\t'All sessions of this user: settings.json in the client\'s directory'
project\t'All sessions in this project, for everybody: .claude/settings.json'
local\t'This user\'s sessions in this project: .claude/settings.local.json'"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -l settings -d 'Another settings file than the scope\'s' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -l command -d 'The program that the hooks run, instead of this one: a path, or the bare word `teamkeep`' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -l client-version -d 'The client\'s version, instead of asking `claude --version`' -r -f
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -l dry-run -d 'Show the change and write nothing'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -s y -l yes -d 'For scripts; no question is ever asked'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand uninstall" -l scope -d 'Whose sessions' -r -f -a "user\t'All sessions of this user: settings.json in the client\'s directory'
project\t'All sessions in this project, for everybody: .claude/settings.json'
local\t'This user\'s sessions in this project: .claude/settings.local.json'"
complete -c teamkeep -n "__fish_teamkeep_using_subcommand uninstall" -l settings -d 'Another settings file than the scope\'s' -r -F
complete -c teamkeep -n "__fish_teamkeep_using_subcommand uninstall" -l dry-run -d 'Show the change and write nothing'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand uninstall" -s y -l yes -d 'For scripts; no question is ever asked'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "hook" -d 'Record one hook call: the payload comes on stdin'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "teams" -d 'List the teams on record'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "status" -d 'Say how the teams stand that are alive now'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "show" -d 'Show a run\'s roster, tasks and mail as they were'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "replay" -d 'Tell the story of a run'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "report" -d 'Say what a run amounts to: who did what, how long, at what cost, and what went wrong'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "restore" -d 'Give back a run\'s files, or put its unfinished tasks into a task list of the client'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "log" -d 'Show what was recorded'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "export" -d 'Write a run to one file that can be carried elsewhere'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "import" -d 'Bring a run on record that was exported elsewhere'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "verify" -d 'Look whether the record is whole'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "doctor" -d 'Look whether everything is set up, and say what mends what is not'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "prune" -d 'Remove old runs from the record: a plan first'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "config" -d 'Look after the configuration file'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "demo" -d 'Play a small recorded run and tell it; touches nothing of yours'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "policy" -d 'Look after the policy: check, show, trust, pause, allow'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "install" -d 'Add the hooks to the client\'s settings'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "uninstall" -d 'Take the hooks out of the client\'s settings again'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and not __fish_seen_subcommand_from hook teams status show replay report restore log export import verify doctor prune config demo policy install uninstall help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "path" -d 'Tell where the configuration files are, and whether they exist'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "init" -d 'Write a configuration file with every key at its default, each with a comment'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "schema" -d 'Print the JSON Schema of the file, for editors'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "check" -d 'Find everything that is wrong with the policy\'s files'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "show" -d 'Show the policy in force: every key, its value, where it comes from'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "trust" -d 'Let a project\'s checks and rules run, as they are now'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "test" -d 'Run recorded runs through a policy: what it would have blocked, and what really happened'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "explain" -d 'Show how the policy decides on a payload that comes on stdin'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "pause" -d 'Let a gate, or all, hold nothing back for a time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "resume" -d 'End pauses before their time'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "allow" -d 'Let one occasion through'
complete -c teamkeep -n "__fish_teamkeep_using_subcommand help; and __fish_seen_subcommand_from policy" -f -a "pauses" -d 'List what is let through at present'
