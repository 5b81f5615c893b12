//! What `watch` draws.

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{CREATED, SESSION, Watcher, after, by, message, recording, stalled, task};
use crate::history::traces::{PANES, V47, V328, play};
use crate::support::big_run::{BigRun, Course, SILENT_FROM, SILENT_TO};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;
use anstream::adapter::strip_str;
use ratatui_crossterm::crossterm::event::KeyCode;
use teamkeep::status::AgentState;
use teamkeep::watch::{Panel, Playback, WatchState};

#[test]
fn a_stalled_agent_is_shown_first_with_its_task_and_what_it_blocks() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    session-aaaaaaaa  running for 41m  Design the screens, Build the m… 04:46:06 UTC
    incidents: 1 high · 1 stalled  1/4 done ━━━─────────
     ! high   mobile has been silent for 40 min with #4 in progress; 2 messages wai…
              → Ask mobile for #4, or reassign the task  y: copy
    ━ Agents 1 stalled, 2 working, 1 idle ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     ! mobile    stalled    40m            #4 Build the mobile app
     ● carol     working    59s
     ● team-lead working    20m
     ○ bob       idle       20m   2 unread
    ─ Tasks 1 of 4 done, 1 blocked ─────────────────────────────────────────────────
     Pending 2                  In progress 1              Done 1
     #5 after #4 bob Test the…  #4 !mobile 40m Build the…  #1 Design the screens
     #6 Write the release not…
    ─ Messages 6 messages ──────────────────────────────────────────────────────────
     04:05:10 mobile → bob  I start with the login screen
     04:05:12 bob → mobile  Ping me when I can test it, 日本語 too
     04:25:08 carol → mobile  Is the app done?
     04:25:08 carol → bob  hello
     04:25:08 team-lead → bob  hello
     04:45:06 carol → team-lead  mobile does not answer



    Tab j/k Enter  / filter  ! incident  ← past  ? help  q quit
    ");
}

#[test]
fn rows_stand_still_while_agents_continue_to_work() {
    let sandbox = Sandbox::new();
    let lead = stalled(&sandbox);
    let order = |minutes| {
        let watcher = Watcher::new(recording(&sandbox, after(minutes)), after(minutes));
        watcher.moment().board.members.iter().map(|member| member.name.clone()).collect::<Vec<_>>()
    };
    let before = order(41);
    assert_eq!(before, ["mobile", "carol", "team-lead", "bob"]);
    sandbox.set_clock(42 * 60_000);
    message(&lead, "u5", ("team-lead", "carol"), "I ask mobile");
    assert_eq!(order(43), before);
}

#[test]
fn a_wide_terminal_has_the_messages_beside_the_agents() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    insta::assert_snapshot!(watcher.screen(140, 40), @"
    session-aaaaaaaa  running for 41m  Design the screens, Build the mobile app, Test the mobile app, Write the release notes       04:46:06 UTC
    incidents: 1 high · 1 stalled  1/4 done ━━━─────────
     ! high   mobile has been silent for 40 min with #4 in progress; 2 messages waited for it
              → Ask mobile for #4, or reassign the task  y: copy
    ━ Agents 1 stalled, 2 working, 1 idle ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ ─ Messages 6 messages ─────────────────────────────────────────
     ! mobile    stalled    40m            #4 Build the mobile app                04:05:10 mobile → bob  I start with the login screen
     ● carol     working    59s                                                   04:05:12 bob → mobile  Ping me when I can test it, 日本語 too
     ● team-lead working    20m                                                   04:25:08 carol → mobile  Is the app done?
     ○ bob       idle       20m   2 unread                                        04:25:08 carol → bob  hello
                                                                                  04:25:08 team-lead → bob  hello
                                                                                  04:45:06 carol → team-lead  mobile does not answer











    ─ Tasks 1 of 4 done, 1 blocked ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
     Pending 2                                      In progress 1                                  Done 1
     #5 after #4 bob Test the mobile app            #4 !mobile 40m Build the mobile app            #1 Design the screens
     #6 Write the release notes













    Tab j/k Enter  / filter  ! incident  ← past  ? help  q quit
    ");
}

#[test]
fn details_of_an_incident_have_its_chain_and_what_helps() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Char('!'), KeyCode::Enter]);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    ━ Incident ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    mobile has been silent for 40 min with #4 in progress; 2 messages waited for it

    stalled-agent, severity high
    from  2026-02-03 04:05:11 UTC (+5.0s)
    for   40m so far
    agents: mobile
    tasks: #4

    Remedy
      Ask mobile for #4, or reassign the task

    Evidence
      04:05:07  mobile had #4 in progress: Build the mobile app
      04:05:10  mobile sent a message; after that it showed no activity
      04:05:12  bob wrote to mobile and got no answer
      04:25:08  carol wrote to mobile and got no answer






    j/k: scroll  !: next incident  y: copy the remedy  Esc: back
    ");
}

#[test]
fn details_of_agents_tasks_and_messages_are_pages() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Enter]);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    ━ Agent mobile ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    stalled, last activity 40m ago

    Incidents
      mobile has been silent for 40 min with #4 in progress; 2 messages waited for
      it
      → Ask mobile for #4, or reassign the task

    Tasks
      #4 in_progress, mobile, 40m: Build the mobile app

    Timeline
      04:05:06  mobile joined the team
      04:05:07  unknown created task 4: Build the mobile app
      04:05:07  mobile started a turn
      04:05:10  mobile messaged bob: I start with the login screen
      04:05:12  bob messaged mobile: Ping me when I can test it, 日本語 too
      04:25:08  carol messaged mobile: Is the app done?





    j/k: scroll  !: next incident  Esc: back
    ");
    watcher.press(&[KeyCode::Esc, KeyCode::Tab, KeyCode::Enter]);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    ━ Task #4 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    Build the mobile app
    in_progress, mobile, for 40m

    Blocks
      #5 pending, bob, 40m: Test the mobile app

    Incidents
      mobile has been silent for 40 min with #4 in progress; 2 messages waited for
      it
      → Ask mobile for #4, or reassign the task

    Timeline
      04:05:07  unknown created task 4: Build the mobile app









    j/k: scroll  !: next incident  Esc: back
    ");
    watcher.press(&[KeyCode::Esc, KeyCode::Tab, KeyCode::Char('k'), KeyCode::Enter]);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    ━ Message ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    team-lead → bob
    2026-02-03 04:25:08 UTC (+20m02s), 5 B

      hello


















    j/k: scroll  !: next incident  Esc: back
    ");
}

#[test]
fn recorded_runs_are_shown_at_their_end_and_at_a_moment() {
    for (name, run) in [("v47", V47), ("v328", V328), ("panes", PANES)] {
        let told = play(run, 1);
        let recording = recording(&told.sandbox, after(60 * 24 * 365));
        let mut watcher = Watcher::new(recording, after(60 * 24 * 365));
        insta::assert_snapshot!(format!("{name}-end-80"), watcher.screen(80, 24));
        watcher.press(&[KeyCode::Left; 12]);
        insta::assert_snapshot!(format!("{name}-earlier-140"), watcher.screen(140, 40));
    }
}

#[test]
fn an_agent_that_waits_for_a_permission_and_a_message_to_nobody_are_alerts() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(CREATED, &["bob", "carol"]);
    lead.start("startup");
    task(&lead, 1, "Deploy", ("in_progress", Some("bob")), &[]);
    ["bob", "carol"].into_iter().for_each(|name| lead.hook("SubagentStart", by(name)));
    message(&lead, "u1", ("carol", "dora"), "Are you there?");
    let mut asks = by("bob");
    (asks["tool_name"], asks["tool_input"]) = (json!("Bash"), json!({"command": "deploy"}));
    lead.hook("PermissionRequest", asks);
    let mut watcher = Watcher::new(recording(&sandbox, after(7)), after(7));
    insta::assert_snapshot!(watcher.screen(80, 18), @"
    session-aaaaaaaa  running for 7m  Deploy                            04:12:06 UTC
    incidents: 1 high, 1 medium · 1 waiting  0/1 done ────────────
     ! high   bob has been waiting 6 min 55 s for permission to use Bash, with #1 i…
              → Answer bob's request in Claude Code  y: copy
     ! medium carol wrote to dora, but no agent has that name (1 message) → Send it…
    ━ Agents 1 waiting, 1 working, 1 joined ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     ? bob       waiting  6m55s            #1 Deploy
     ● carol     working  6m56s
     ○ team-lead joined      7m
    ─ Tasks 0 of 1 done ────────────────────────────────────────────────────────────
     Pending 0                  In progress 1              Done 0
                                #1 ?bob 6m59s Deploy
    ─ Messages 1 message ───────────────────────────────────────────────────────────
     04:05:09 carol → dora  Are you there?



    Tab j/k Enter  / filter  ! incident  ← past  ? help  q quit
    ");
}

#[test]
fn a_blocker_is_red_only_if_it_does_not_progress() {
    let red = "\u{1b}[31m";
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let row = |watcher: &mut Watcher| {
        watcher
            .drawn(80, 24)
            .into_iter()
            .find(|line| strip_str(line).to_string().contains("#5 after"))
            .unwrap()
    };
    assert!(row(&mut watcher).contains(&format!("{red}#4")), "its owner is stalled");
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(CREATED, &["bob"]);
    lead.start("startup");
    task(&lead, 1, "Build", ("in_progress", Some("bob")), &[]);
    task(&lead, 2, "Plan", ("pending", None), &[]);
    task(&lead, 3, "Order", ("pending", None), &["1"]);
    task(&lead, 5, "Test", ("pending", None), &["1", "2", "3"]);
    lead.hook("SubagentStart", by("bob"));
    let mut watcher = Watcher::new(recording(&sandbox, after(1)), after(1));
    let shown = row(&mut watcher);
    assert!(strip_str(&shown).to_string().contains("#5 after #2, #1, +1 Test"), "{shown}");
    assert!(shown.contains(&format!("{red}#2")) && !shown.contains(&format!("{red}#1")), "{shown}");
}

#[test]
fn a_past_run_opens_at_its_worst_incident_and_another_one_at_its_end() {
    for run in [V47, V328, PANES] {
        let told = play(run, 1);
        let mut watcher = Watcher::new(recording(&told.sandbox, after(9_999_999)), after(9_999_999));
        watcher.state = WatchState::of(&watcher.recording);
        let worst = watcher.recording.observed.incidents().first().map(|incident| incident.id.clone());
        assert!(worst.is_some());
        assert_eq!(watcher.state.selection.alert, worst);
        assert!(!watcher.state.is_in_past(), "a new team may replace what nobody has moved");
        assert!(watcher.screen(80, 24).contains("\n▸! "), "{}", watcher.screen(80, 24));
        if watcher.state.player.playback != Playback::End {
            assert!(watcher.screen(80, 24).contains(", f: end"));
            watcher.press(&[KeyCode::Left]);
            assert!(watcher.state.is_in_past());
            watcher.types("f");
            assert_eq!(watcher.state.player.playback, Playback::End);
        }
    }
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(CREATED, &["bob"]);
    lead.start("startup");
    lead.end("other");
    sandbox.finish();
    let quiet = recording(&sandbox, after(9));
    assert!(!quiet.is_running() && quiet.observed.incidents().is_empty());
    assert_eq!(WatchState::of(&quiet).player.playback, Playback::End);
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let running = WatchState::of(&recording(&sandbox, after(41)));
    assert_eq!((running.player.playback, running.panel), (Playback::End, Panel::Agents));
}

#[test]
fn an_earlier_moment_does_not_show_how_an_incident_ended() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.state.player.playback = Playback::Paused(after(15));
    let shown = watcher.screen(100, 24);
    assert!(shown.contains("mobile silent since 04:05:11 (14 min) with #4 in progress"), "{shown}");
    assert!(!shown.contains("40 min") && !shown.contains("waited"), "{shown}");
    watcher.press(&[KeyCode::Char('!'), KeyCode::Enter]);
    let shown = watcher.screen(100, 24);
    assert!(shown.contains("mobile silent since 04:05:11"), "{shown}");
}

#[test]
fn the_remedy_of_the_selected_incident_has_a_row_and_is_copied() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let remedy = "Ask mobile for #4, or reassign the task";
    let row = format!("\n          → {remedy}  ");
    assert!(watcher.screen(80, 24).contains(&(row.clone() + "y: copy")));
    watcher.types("y");
    assert_eq!(watcher.state.copied.as_deref(), Some(remedy));
    assert!(watcher.screen(80, 24).contains(&(row.clone() + "copied")));
    watcher.press(&[KeyCode::Char('!'), KeyCode::Enter]);
    assert_eq!(watcher.state.copied, None);
    assert!(watcher.screen(80, 24).contains("y: copy the remedy"));
    watcher.types("y");
    assert_eq!(watcher.state.copied.as_deref(), Some(remedy));
    watcher.press(&[KeyCode::Esc]);
    watcher.types("/y");
    assert_eq!((watcher.state.copied.as_ref(), watcher.state.filter.as_str()), (None, "y"));
}

#[test]
fn a_long_name_leaves_room_for_the_subject_of_its_task() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    let name = "the-one-who-reviews-the-storage-layer";
    lead.roster(CREATED, &[name]);
    lead.start("startup");
    task(&lead, 1, "Review", ("in_progress", Some(name)), &[]);
    lead.hook("SubagentStart", by(name));
    let mut watcher = Watcher::new(recording(&sandbox, after(0)), after(0));
    let shown = watcher.screen(140, 24);
    assert!(shown.contains(" #1 the-one-who-rev… ") && shown.contains("s Review"), "{shown}");
}

#[test]
fn a_task_belongs_to_its_owner_however_the_owner_is_written() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(CREATED, &["bob"]);
    lead.start("startup");
    for (number, owner) in (1..).zip(["bob", "@bob", "bob@parser-team", "BOB", "@"]) {
        task(&lead, number, "Work", ("in_progress", Some(owner)), &[]);
    }
    lead.hook("SubagentStart", by("bob"));
    let board = Watcher::new(recording(&sandbox, after(1)), after(1)).moment().board;
    let bob = board.members.iter().find(|member| member.name == "bob").unwrap();
    assert_eq!(bob.tasks, ["1", "2", "3", "4"]);
    assert_eq!(board.tasks[4].owner, None);
}

#[test]
fn nothing_that_needs_attention_is_hidden() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    let names: Vec<String> = (1..=20).map(|number| format!("agent-{number}")).collect();
    lead.roster(CREATED, &names.iter().map(String::as_str).collect::<Vec<_>>());
    lead.start("startup");
    for (number, name) in (1..).zip(&names[..12]) {
        task(&lead, number, "Work", ("in_progress", Some(name)), &[]);
    }
    names.iter().for_each(|name| lead.hook("SubagentStart", by(name)));
    for minute in (10..=120).step_by(10) {
        sandbox.set_clock(minute * 60_000);
        lead.before("u", "Bash", &json!({"command": "make"}), by("agent-20"));
    }
    let mut watcher = Watcher::new(recording(&sandbox, after(121)), after(121));
    let moment = watcher.moment();
    let members = &moment.board.members;
    assert_eq!(members.iter().filter(|one| one.state.needs_attention()).count(), 12, "{members:#?}");
    let alerts = moment.alerts.len();
    assert!(alerts > 3, "{:#?}", moment.alerts);
    for (columns, rows) in [(80, 24), (100, 16), (140, 40), (60, 12)] {
        let shown = watcher.screen(columns, rows);
        assert!(shown.contains("12 stalled"), "{shown}");
        assert!(shown.contains(&format!("{alerts} high")), "{shown}");
        let rows_of_agents = shown.lines().filter(|line| line.contains("! agent-")).count();
        let more = format!("{} stalled", 12 - rows_of_agents);
        assert!(rows_of_agents == 12 || shown.matches(&more).count() > 0, "{shown}");
    }
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    session-aaaaaaaa  running for 2h1m  Work, Work, Work, Work, Work, … 06:06:06 UTC
    incidents: 12 high · 12 stalled  0/12 done ────────────
     ! high   agent-1 has been silent for 2 h with #1 in progress
              → Ask agent-1 for #1, or reassign the task  y: copy
     ! high   agent-2 has been silent for 2 h with #2 in progress → Ask agent-2 for…
     ! high   agent-3 has been silent for 2 h with #3 in progress → Ask agent-3 for…
      +9 more incidents: press !
    ━ Agents 12 stalled, 8 working, 1 joined ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     ! agent-1   stalled     2h            #1 Work
     ! agent-2   stalled     2h            #2 Work
     ! agent-3   stalled     2h            #3 Work
     ! agent-4   stalled     2h            #4 Work
     ! agent-5   stalled     2h            #5 Work
     ! agent-6   stalled     2h            #6 Work
     ! agent-7   stalled     2h            #7 Work
     ! agent-8   stalled     2h            #8 Work
      +13 more: 4 stalled, 8 working, 1 joined (Tab, j)
    ─ Tasks 0 of 12 done ───────────────────────────────────────────────────────────
     Pending 0                  In progress 12             Done 0
                                #1 !agent-1 2h Work
                                #2 !agent-2 2h Work
                                #3 !agent-3 2h Work
                                +9 more
    Tab j/k Enter  / filter  ! incident  ← past  ? help  q quit
    ");
    // The keys that the screen names lead to the rest.
    for _ in 0..alerts - 1 {
        watcher.press(&[KeyCode::Char('!')]);
    }
    let last = watcher.state.selection.alert.clone();
    assert_eq!(last, watcher.moment().alerts.get(alerts - 2).map(|alert| alert.id.clone()));
    assert!(watcher.screen(80, 24).contains("▸! high"));
}

#[test]
fn the_screen_fits_a_terminal_of_any_size() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let modes: [&[KeyCode]; 4] = [
        &[],
        &[KeyCode::Char('!'), KeyCode::Enter],
        &[KeyCode::Esc, KeyCode::Char('?')],
        &[KeyCode::Esc, KeyCode::Left, KeyCode::Char('/'), KeyCode::Char('m')],
    ];
    for keys in modes {
        watcher.press(keys);
        for columns in (1..30).chain([40, 79, 80, 119, 120, 121, 300]) {
            for rows in (1..16).chain([24, 60]) {
                let lines = watcher.drawn(columns, rows);
                assert!(lines.len() <= usize::from(rows), "{columns}×{rows}: {lines:?}");
                for line in &lines {
                    let line = strip_str(line).to_string();
                    assert!(line.width() <= usize::from(columns), "{columns}×{rows}: {line:?}");
                }
            }
        }
    }
}

#[test]
fn a_small_terminal_shows_the_alerts_first() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    insta::assert_snapshot!(watcher.screen(50, 1), @"session-aaaaaaaa incidents: 1 high · 1 stalled  1…");
    insta::assert_snapshot!(watcher.screen(50, 8), @"
    session-aaaaaaaa  running for 41m  D… 04:46:06 UTC
    incidents: 1 high · 1 stalled  1/4 done ━━━──────…
     ! high   mobile has been silent for 40 min with …
    ━ Agents 1 stalled, 2 working, 1 idle ━━━━━━━━━━━━
     ! mobile    stalled    40m            #4 Build t…
     ● carol     working    59s
      +2 more: 1 working, 1 idle (Tab, j)
    Tab j/k Enter  / filter  ! incident  ← past  ? he…
    ");
}

#[test]
fn text_of_agents_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    let wild = "\u{1b}]0;x\u{7}\u{1b}[2J\u{202e}wild\u{200b}\n\u{9b}31m 👩‍💻日本";
    lead.roster(CREATED, &["\u{1b}[31mbob"]);
    lead.start("startup");
    task(&lead, 1, wild, ("in_progress", Some("bob")), &[wild]);
    let input = json!({"to": wild, "message": wild, "summary": wild});
    lead.before("u1", "SendMessage", &input, by("bob"));
    lead.after("u1", "SendMessage", &input, json!({"success": true}), by("bob"));
    let mut watcher = Watcher::new(recording(&sandbox, after(1)), after(1));
    let mut all = String::new();
    for _ in 0..3 {
        all += &watcher.drawn(140, 40).join("\n");
        watcher.press(&[KeyCode::Enter]);
        all += &watcher.drawn(80, 24).join("\n");
        watcher.press(&[KeyCode::Esc, KeyCode::Tab]);
    }
    assert!(all.contains("wild"));
    let colors_removed = strip_str(&all).to_string();
    assert!(
        !colors_removed.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']),
        "{colors_removed}"
    );
    assert!(!all.contains("\u{1b}[2J") && !all.contains("\u{1b}]"), "{all:?}");
}

#[test]
fn in_a_big_run_the_silent_teammate_is_on_the_first_page() {
    let sandbox = Sandbox::new();
    BigRun::write(&sandbox.keep(""), &sandbox.client(""), Course::Stall);
    let mut watcher = Watcher::new(recording(&sandbox, after(9_999_999)), after(9_999_999));
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    session-b1660000  ended with open work  149 of 150 tasks done in 4… 08:59:06 UTC
    incidents: 1 high  149/150 done ━━━━━━━━━━━─
    ■ end +4h54m00s of 4h54m00s ━━━━━━━━━━━━━━!━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━●
     ! high   mobile was silent for 3 h 18 min with #149 in progress; 81 messages w…
              → teamkeep restore b166000000000001 --yes  y: copy
    ━ Agents 13 left ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
     · api       left  3m22s
     · auth      left  3m39s
     · billing   left  3m55s
     · data      left  3m47s
     · docs      left  3m36s
      +8 more: 8 left (Tab, j)
    ─ Tasks 149 of 150 done ────────────────────────────────────────────────────────
     Pending 1                  In progress 0              Done 149
     #149 Part 149 of the pla…                             #150 Part 150 of the pla…
                                                           #148 Part 148 of the pla…
                                                           #147 Part 147 of the pla…
                                                           +146 more
    ─ Messages 3,091 messages ──────────────────────────────────────────────────────
     08:55:13 infra → team-lead  part 3087
     08:55:19 data → search  part 3088
     08:55:24 auth → api  part 3089
     08:55:30 docs → mail  part 3090
    Tab j/k Enter  / filter  ! incident  ←/→ seek  space play  f end  ? help  q quit
    ");
    watcher.state = WatchState::of(&watcher.recording);
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    session-b1660000  ended with open work  149 of 150 tasks done in 4… 08:45:05 UTC
    incidents: 1 high · 1 stalled  147/150 done ━━━━━━━━━━━─  2.2M tokens/h, $32.90…
    ‖ 10x, f: end +4h39m59s of 4h54m00s ━━━━━━━━━━━!━━━━━━━━━━━━━━━━━━━━━━━━━━━━●───
    ▸! high   mobile silent since 05:27:06 (3 h 17 min) with #149 in progress
              → teamkeep restore b166000000000001 --yes  y: copy
    ─ Agents 1 stalled, 12 working ─────────────────────────────────────────────────
     ! mobile    stalled  3h17m            #149 Part 149 of the platform
     ● api       working     3s            #150 Part 150 of the platform
     ● auth      working    51s
     ● billing   working    37s
     ● data      working    23s
      +8 more: 8 working (Tab, j)
    ─ Tasks 147 of 150 done ────────────────────────────────────────────────────────
     Pending 0                  In progress 3              Done 147
                                #149 !mobile 3h24m Part …  #147 Part 147 of the pla…
                                #148 web 15m Part 148 of…  #146 Part 146 of the pla…
                                #150 api 15m Part 150 of…  #145 Part 145 of the pla…
                                                           +144 more
    ─ Messages 2,979 messages ──────────────────────────────────────────────────────
     08:44:45 ops → team-lead  part 2975
     08:44:50 web → infra  part 2976
     08:44:56 web → qa  part 2977
     08:45:02 api → auth  part 2978
    Tab j/k Enter  / filter  ! incident  ←/→ seek  space play  f end  ? help  q quit
    ");
    let at = after(0) + chrono::TimeDelta::seconds(SILENT_TO - 60);
    watcher.state.player.playback = Playback::Paused(at);
    let moment = watcher.moment();
    let first = &moment.board.members[0];
    assert_eq!((first.name.as_str(), first.state), ("mobile", AgentState::Stalled));
    assert_eq!(first.active_at, Some(after(0) + chrono::TimeDelta::seconds(SILENT_FROM)));
    insta::assert_snapshot!(watcher.screen(80, 24), @"
    session-b1660000  ended with open work  149 of 150 tasks done in 4… 08:44:06 UTC
    incidents: 1 high · 1 stalled  147/150 done ━━━━━━━━━━━─  2.2M tokens/h, $32.90…
    ‖ 10x, f: end +4h39m00s of 4h54m00s ━━━━━━━━━━━!━━━━━━━━━━━━━━━━━━━━━━━━━━━━●───
    ▸! high   mobile silent since 05:27:06 (3 h 17 min) with #149 in progress
              → teamkeep restore b166000000000001 --yes  y: copy
    ─ Agents 1 stalled, 12 working ─────────────────────────────────────────────────
     ! mobile    stalled  3h17m            #149 Part 149 of the platform
     ● api       working    12s            #150 Part 150 of the platform
     ● auth      working    59s
     ● billing   working     9s
     ● data      working     1s
      +8 more: 8 working (Tab, j)
    ─ Tasks 147 of 150 done ────────────────────────────────────────────────────────
     Pending 0                  In progress 3              Done 147
                                #149 !mobile 3h24m Part …  #147 Part 147 of the pla…
                                #148 web 14m Part 148 of…  #146 Part 146 of the pla…
                                #150 api 14m Part 150 of…  #145 Part 145 of the pla…
                                                           +144 more
    ─ Messages 2,969 messages ──────────────────────────────────────────────────────
     08:43:49 web → qa  part 2965
     08:43:54 api → auth  part 2966
     08:44:00 infra → team-lead  part 2967
     08:44:05 data → search  part 2968
    Tab j/k Enter  / filter  ! incident  ←/→ seek  space play  f end  ? help  q quit
    ");
}
